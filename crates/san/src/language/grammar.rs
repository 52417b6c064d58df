//! From tokens to the syntax tree: declarations. Expressions are in [`super::expressions`].

use super::{
    syntax::{
        AutomatonItem, AutomatonRef, EventRef, File, Indices, Item, Label, Name, Range, Replicas,
        StateItem, Transition,
    },
    tokens::{Kind, Token},
};
use crate::error::{Place, Problem};

/// Words that name no parameter, automaton or state.
const KEYWORDS: [&str; 13] = [
    "param",
    "let",
    "event",
    "rate",
    "automaton",
    "state",
    "initial",
    "prob",
    "if",
    "in",
    "reachable",
    "result",
    "st",
];

/// Reads a text's tokens.
pub(super) fn file(tokens: &[Token<'_>]) -> Result<File, Problem> {
    let mut reader = Reader { tokens, next: 0 };
    let mut file = File::default();
    while !reader.at_end() {
        file.items.push(reader.item()?);
    }
    Ok(file)
}

/// The tokens that are still to be read.
pub(super) struct Reader<'a> {
    tokens: &'a [Token<'a>],
    next: usize,
}

impl<'a> Reader<'a> {
    fn at_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    pub fn peek(&self) -> &'a Token<'a> {
        // The last token is the end, and is never taken.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    /// Returns the place of the next token.
    pub fn place(&self) -> Place {
        self.peek().at
    }

    pub fn take(&mut self) -> &'a Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Says what should stand where the next token is.
    pub fn expected(&self, what: &str) -> Problem {
        let token = self.peek();
        Problem::new(
            token.at,
            format!("expected {what}, found {}", token.kind.described()),
        )
    }

    /// Takes an operator or bracket if it is next.
    pub fn mark_if(&mut self, mark: &str) -> bool {
        let is = matches!(self.peek().kind, Kind::Mark(found) if found == mark);
        self.next += usize::from(is);
        is
    }

    pub fn mark(&mut self, mark: &str, after: &str) -> Result<(), Problem> {
        if self.mark_if(mark) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{mark}` {after}")))
        }
    }

    /// Takes a keyword if it is next.
    pub fn word_if(&mut self, word: &str) -> bool {
        let is = matches!(self.peek().kind, Kind::Word(found) if found == word);
        self.next += usize::from(is);
        is
    }

    pub fn name(&mut self, of: &str) -> Result<Name, Problem> {
        match self.peek().kind {
            Kind::Word(text) if !KEYWORDS.contains(&text) => {
                let at = self.take().at;
                Ok(Name {
                    at,
                    text: text.to_owned(),
                })
            }
            _ => Err(self.expected(of)),
        }
    }

    fn item(&mut self) -> Result<Item, Problem> {
        let at = self.place();
        let item = if self.word_if("param") {
            let name = self.name("the parameter's name")?;
            let value = self.mark_if("=").then(|| self.formula()).transpose()?;
            Item::Parameter { name, value }
        } else if self.word_if("let") {
            let name = self.name("a name for the value")?;
            self.mark("=", "and the value")?;
            let value = self.formula()?;
            Item::Let { name, value }
        } else if self.word_if("event") {
            self.event()?
        } else if self.word_if("automaton") {
            return self.automaton().map(Item::Automaton);
        } else if self.word_if("reachable") {
            let condition = self.formula()?;
            Item::Reachable { at, condition }
        } else if self.word_if("result") {
            let name = self.name("the result's name")?;
            self.mark("=", "and what is to be computed")?;
            let value = self.formula()?;
            Item::Result { name, value }
        } else {
            return Err(self.expected(
                "a declaration: `param`, `let`, `event`, `automaton`, `reachable` or `result`",
            ));
        };
        self.mark(";", "after the declaration")?;
        Ok(item)
    }

    fn event(&mut self) -> Result<Item, Problem> {
        let name = self.name("the event's name")?;
        let replicas = self.replicas()?;
        if !self.word_if("rate") {
            return Err(self.expected("`rate` and how often the event takes place"));
        }
        let rate = self.formula()?;
        Ok(Item::Event {
            name,
            replicas,
            rate,
        })
    }

    /// Reads `[i in A..B]` or `[A..B]`, where a bracket is next.
    fn replicas(&mut self) -> Result<Option<Replicas>, Problem> {
        let at = self.place();
        if !self.mark_if("[") {
            return Ok(None);
        }
        let is_in = matches!(
            self.tokens.get(self.next + 1).map(|token| &token.kind),
            Some(Kind::Word("in"))
        );
        let variable = if is_in {
            let name = self.name("a variable")?;
            self.take();
            Some(name)
        } else {
            None
        };
        let range = self.range()?;
        self.mark("]", "after the range")?;
        Ok(Some(Replicas {
            at,
            variable,
            range,
        }))
    }

    pub fn range(&mut self) -> Result<Range, Problem> {
        let first = self.formula()?;
        self.mark("..", "and the last number of the range")?;
        let last = self.formula()?;
        Ok(Range { first, last })
    }

    fn automaton(&mut self) -> Result<AutomatonItem, Problem> {
        let name = self.name("the automaton's name")?;
        let replicas = self.replicas()?;
        self.mark("{", "and the automaton's states")?;
        let mut states = Vec::new();
        while !self.mark_if("}") {
            states.push(self.state()?);
        }
        if states.is_empty() {
            return Err(Problem::new(
                name.at,
                format!(
                    "the automaton {} has no state; write `state NAME;` for one that nothing leaves",
                    name.text
                ),
            ));
        }
        Ok(AutomatonItem {
            name,
            replicas,
            states,
        })
    }

    fn state(&mut self) -> Result<StateItem, Problem> {
        let initial = self.word_if("initial");
        let at = self.place();
        if !self.word_if("state") {
            return Err(self.expected(if initial {
                "`state` after `initial`"
            } else {
                "`state`, or `}` after the last one"
            }));
        }
        let label = if let Kind::Number(number) = self.peek().kind {
            self.take();
            Label::Number(number)
        } else {
            let name = self.name("a state's name or number")?;
            if self.word_if("in") {
                Label::Row(name, self.range()?)
            } else {
                Label::Word(name)
            }
        };
        let mut transitions = Vec::new();
        if self.mark_if("{") {
            while !self.mark_if("}") {
                transitions.push(self.transition()?);
            }
        } else {
            self.mark(";", "or `{` and transitions after the state")?;
        }
        Ok(StateItem {
            at,
            initial,
            label,
            transitions,
        })
    }

    fn transition(&mut self) -> Result<Transition, Problem> {
        let mut events = vec![self.event_ref()?];
        while self.mark_if(",") {
            events.push(self.event_ref()?);
        }
        self.mark("->", "and the state that the event leads to")?;
        let to = self.formula()?;
        let probability = self.word_if("prob").then(|| self.formula()).transpose()?;
        let condition = self.word_if("if").then(|| self.formula()).transpose()?;
        self.mark(
            ";",
            "after the transition (`prob` and `if` may stand before it)",
        )?;
        Ok(Transition {
            events,
            to,
            probability,
            condition,
        })
    }

    fn event_ref(&mut self) -> Result<EventRef, Problem> {
        let name = self.name("an event, or `}` after the last transition")?;
        let index = self.indices()?;
        Ok(EventRef { name, index })
    }

    pub fn automaton_ref(&mut self) -> Result<AutomatonRef, Problem> {
        let name = self.name("an automaton")?;
        let index = self.indices()?;
        Ok(AutomatonRef { name, index })
    }

    /// Reads `[3]` or `[1..N]`, where a bracket is next.
    fn indices(&mut self) -> Result<Option<Indices>, Problem> {
        if !self.mark_if("[") {
            return Ok(None);
        }
        let first = self.formula()?;
        let indices = if self.mark_if("..") {
            let last = self.formula()?;
            Indices::Range(Box::new(Range { first, last }))
        } else {
            Indices::One(Box::new(first))
        };
        self.mark("]", "after the number or range")?;
        Ok(Some(indices))
    }
}
