//! What the head of an ELF file says about whether it can be recorded.

use std::{
    ffi::OsStr,
    fs::File,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use object::{
    Endianness, ReadCache, ReadRef as _,
    elf::{self, FileHeader64},
    read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _},
};

use super::{check::Reason, runtime::Runtime};

/// The machine that foretrace, and so its library, was built for.
#[cfg(target_arch = "x86_64")]
const OUR_MACHINE: u16 = elf::EM_X86_64.0;
#[cfg(target_arch = "aarch64")]
const OUR_MACHINE: u16 = elf::EM_AARCH64.0;

/// Checks that the dynamic loader would load a library into this program, and returns what else it runs on.
///
/// # Errors
///
/// With the reason why not.
pub fn check(file: File) -> Result<Option<Runtime>, Reason> {
    let data = ReadCache::new(file);
    check_identity(&data)?;
    let damaged = |error: object::Error| Reason::DamagedElf(error.to_string());
    let header = FileHeader64::<Endianness>::parse(&data).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    let kind = header.e_type(endian);
    if kind != elf::ET_EXEC && kind != elf::ET_DYN {
        return Err(Reason::NotAProgram);
    }
    // Without section headers nothing is known of it.
    let runtime = runtime(header, endian, &data).ok().flatten();
    for segment in header.program_headers(endian, &data).map_err(damaged)? {
        if let Some(interpreter) = segment.interpreter(endian, &data).map_err(damaged)? {
            return check_loader(interpreter).map(|()| runtime);
        }
    }
    Err(match runtime {
        Some(Runtime::Go) => Reason::StaticGo,
        _ if kind == elf::ET_DYN => Reason::StaticPie,
        _ => Reason::Static,
    })
}

/// Finds out whether a program carries Go's runtime, or starts a Java virtual machine.
fn runtime(
    header: &FileHeader64<Endianness>,
    endian: Endianness,
    data: &ReadCache<File>,
) -> object::Result<Option<Runtime>> {
    let sections = header.sections(endian, data)?;
    for section in sections.iter() {
        let name = sections.section_name(endian, section)?;
        if GO_SECTIONS.contains(&name) {
            return Ok(Some(Runtime::Go));
        }
    }
    if let Some((entries, strings)) = sections.dynamic(endian, data)? {
        let strings = sections.strings(endian, data, strings)?;
        for entry in entries
            .iter()
            .filter(|entry| entry.d_tag(endian) == elf::DT_NEEDED)
        {
            let name = strings.get(entry.d_val(endian) as u32).unwrap_or_default();
            if JAVA_LIBRARIES.contains(&name) {
                return Ok(Some(Runtime::Java));
            }
        }
    }
    Ok(None)
}

/// Sections that Go's linker makes.
const GO_SECTIONS: [&[u8]; 2] = [b".note.go.buildid", b".go.buildinfo"];

/// Libraries of the Java virtual machine that its launchers link.
const JAVA_LIBRARIES: [&[u8]; 2] = [b"libjli.so", b"libjvm.so"];

/// Returns the path of the loader that a program names.
pub fn loader(data: &ReadCache<File>) -> Option<PathBuf> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let mut segments = header.program_headers(endian, data).ok()?.iter();
    let path = segments.find_map(|segment| segment.interpreter(endian, data).ok().flatten())?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// Checks class and machine by their bytes: a 32-bit header has another shape than the one parsed later.
fn check_identity(data: &ReadCache<File>) -> Result<(), Reason> {
    let truncated = |()| Reason::DamagedElf("the file ends within its header".to_owned());
    let ident = data.read_bytes_at(0, 20).map_err(truncated)?;
    let machine = [ident[18], ident[19]];
    let machine = if ident[5] == elf::ELFDATA2MSB.0 {
        u16::from_be_bytes(machine)
    } else {
        u16::from_le_bytes(machine)
    };
    if machine != OUR_MACHINE {
        return Err(Reason::OtherMachine(machine_name(machine)));
    }
    if ident[4] != elf::ELFCLASS64.0 {
        return Err(Reason::OtherMachine(
            "32-bit pointers on this machine (x32)".to_owned(),
        ));
    }
    Ok(())
}

fn machine_name(machine: u16) -> String {
    let name = match elf::Machine(machine) {
        elf::EM_386 => "32-bit x86",
        elf::EM_X86_64 => "x86-64",
        elf::EM_ARM => "32-bit Arm",
        elf::EM_AARCH64 => "64-bit Arm",
        elf::EM_RISCV => "RISC-V",
        elf::EM_PPC64 => "64-bit PowerPC",
        elf::EM_S390 => "IBM Z",
        elf::EM_MIPS => "MIPS",
        elf::EM_LOONGARCH => "LoongArch",
        _ => return format!("another machine (ELF machine {machine})"),
    };
    name.to_owned()
}

fn check_loader(interpreter: &[u8]) -> Result<(), Reason> {
    let path = PathBuf::from(OsStr::from_bytes(interpreter));
    if is_musl(&path) {
        return Err(Reason::Musl);
    }
    if !path.exists() {
        return Err(Reason::LoaderMissing(path.display().to_string()));
    }
    Ok(())
}

fn is_musl(loader: &Path) -> bool {
    loader
        .file_name()
        .is_some_and(|name| name.as_bytes().starts_with(b"ld-musl-"))
}
