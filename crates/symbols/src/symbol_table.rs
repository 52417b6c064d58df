//! Functions by address.

/// A function of a symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Where it begins.
    pub address: u64,
    /// Its length in bytes; 0 where it is not known.
    pub size: u64,
    /// Its name, as the linker has it.
    pub name: String,
}

/// The functions of a file and of its debug file, by address.
#[derive(Debug, Default)]
pub struct SymbolTable {
    sorted: Vec<Symbol>,
}

impl SymbolTable {
    /// Sorts the functions; of several at one address, the one with the plainest name stays.
    pub fn new(mut symbols: Vec<Symbol>) -> Self {
        let underscores = |name: &str| name.len() - name.trim_start_matches('_').len();
        symbols.sort_by(|a, b| {
            (a.address, a.size == 0, underscores(&a.name), &a.name).cmp(&(
                b.address,
                b.size == 0,
                underscores(&b.name),
                &b.name,
            ))
        });
        symbols.dedup_by_key(|symbol| symbol.address);
        Self { sorted: symbols }
    }

    /// Returns the function that an address lies in, and how far behind its beginning.
    ///
    /// Behind the end of the last function before it, it lies in one without a name: what a stripped file still exports is
    /// often far away.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let next = self
            .sorted
            .partition_point(|symbol| symbol.address <= address);
        let symbol = &self.sorted[next.checked_sub(1)?];
        let offset = address - symbol.address;
        (symbol.size == 0 || offset < symbol.size).then_some((symbol.name.as_str(), offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(symbols: &[(u64, u64, &str)]) -> SymbolTable {
        SymbolTable::new(
            symbols
                .iter()
                .map(|&(address, size, name)| Symbol {
                    address,
                    size,
                    name: name.to_owned(),
                })
                .collect(),
        )
    }

    #[test]
    fn an_address_belongs_to_the_function_around_it() {
        let table = table(&[(0x200, 0, "label"), (0x100, 0x10, "work")]);
        assert_eq!(table.find(0xff), None);
        assert_eq!(table.find(0x100), Some(("work", 0)));
        assert_eq!(table.find(0x10f), Some(("work", 0xf)));
        assert_eq!(table.find(0x110), None);
        assert_eq!(table.find(0x234), Some(("label", 0x34)));
    }

    #[test]
    fn of_several_names_the_plainest_stays() {
        let table = table(&[
            (0x100, 0x10, "__pthread_create"),
            (0x100, 0x10, "pthread_create"),
            (0x100, 0, "alias"),
        ]);
        assert_eq!(table.find(0x101), Some(("pthread_create", 1)));
    }

    #[test]
    fn an_empty_table_knows_nothing() {
        assert_eq!(SymbolTable::default().find(1), None);
    }
}
