//! A file manager from which a file is dragged into a window: the source's side of XDND version 5, the drag-and-drop
//! protocol of X11 (<https://www.freedesktop.org/wiki/Specifications/XDND/>).

use std::{error::Error, path::Path, thread, time::Duration};

use x11rb::{
    CURRENT_TIME,
    connection::Connection as _,
    protocol::{
        Event,
        xproto::{
            Atom, ClientMessageEvent, ConnectionExt as _, CreateWindowAux, EventMask, PropMode,
            SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent, Window,
            WindowClass,
        },
    },
    rust_connection::RustConnection,
    wrapper::ConnectionExt as _,
};

const VERSION: u32 = 5;

struct Source {
    connection: RustConnection,
    target: Window,
    list: String,
}

/// Drags a file over a window and drops it there.
///
/// # Errors
///
/// Where the window takes no files, or does not answer.
pub fn drop_file(display: &str, target: Window, file: &Path) -> Result<(), Box<dyn Error>> {
    let (connection, screen) = x11rb::connect(Some(display))?;
    let root = connection.setup().roots[screen].root;
    let window = connection.generate_id()?;
    let (class, options) = (WindowClass::INPUT_OUTPUT, CreateWindowAux::new());
    connection.create_window(0, window, root, 0, 0, 1, 1, 0, class, 0, &options)?;
    let list = format!("file://{}\r\n", file.display());
    let source = Source {
        connection,
        target,
        list,
    };
    let (list, selection) = (source.atom("text/uri-list")?, source.atom("XdndSelection")?);
    let connection = &source.connection;
    connection.set_selection_owner(window, selection, CURRENT_TIME)?;
    source.tell("XdndEnter", [window, VERSION << 24, list, 0, 0])?;
    let (place, copy) = (0x0190_0190, source.atom("XdndActionCopy")?);
    source.tell("XdndPosition", [window, 0, place, CURRENT_TIME, copy])?;
    if source.answer("XdndStatus")?[1] & 1 == 0 {
        return Err("the window takes no files".into());
    }
    source.tell("XdndDrop", [window, 0, CURRENT_TIME, 0, 0])?;
    source.answer("XdndFinished")?;
    Ok(())
}

impl Source {
    fn atom(&self, name: &str) -> Result<Atom, Box<dyn Error>> {
        let cookie = self.connection.intern_atom(false, name.as_bytes())?;
        Ok(cookie.reply()?.atom)
    }

    fn tell(&self, what: &str, data: [u32; 5]) -> Result<(), Box<dyn Error>> {
        let message = ClientMessageEvent::new(32, self.target, self.atom(what)?, data);
        self.connection
            .send_event(false, self.target, EventMask::NO_EVENT, message)?;
        self.connection.flush()?;
        Ok(())
    }

    /// Waits for an answer, and tells meanwhile which file is dragged.
    fn answer(&self, what: &str) -> Result<[u32; 5], Box<dyn Error>> {
        let what = self.atom(what)?;
        for _ in 0..1_000 {
            match self.connection.poll_for_event()? {
                Some(Event::SelectionRequest(request)) => self.name_file(&request)?,
                Some(Event::ClientMessage(message)) if message.type_ == what => {
                    return Ok(message.data.as_data32());
                }
                Some(_) => {}
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
        Err("the window does not answer".into())
    }

    fn name_file(&self, request: &SelectionRequestEvent) -> Result<(), Box<dyn Error>> {
        let SelectionRequestEvent {
            time,
            requestor,
            selection,
            target,
            property,
            ..
        } = *request;
        let connection = &self.connection;
        let mode = PropMode::REPLACE;
        connection.change_property8(mode, requestor, property, target, self.list.as_bytes())?;
        let told = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time,
            requestor,
            selection,
            target,
            property,
        };
        connection.send_event(false, requestor, EventMask::NO_EVENT, told)?;
        connection.flush()?;
        Ok(())
    }
}
