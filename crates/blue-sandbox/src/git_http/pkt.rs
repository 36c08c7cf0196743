//! The head of a push: which refs it wants to move

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// More than this before the flush is no push of ours
const LIMIT: usize = 16 << 20;

/// One line of a push: move `name` from `old` to `new`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub old: String,
    pub new: String,
    pub name: String,
}

/// Read up to and with the flush that ends the command list
///
/// Gives the commands and every byte read, so that git can be handed the whole request.
pub(super) async fn read_commands(
    reader: &mut (impl AsyncRead + Unpin),
) -> io::Result<(Vec<Command>, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut commands = Vec::new();
    loop {
        let start = bytes.len();
        let mut size = [0; 4];
        if let Err(error) = reader.read_exact(&mut size).await {
            // An empty request is git's way to ask whether the door is open.
            return match error.kind() {
                io::ErrorKind::UnexpectedEof if bytes.is_empty() => Ok((commands, bytes)),
                _ => Err(error),
            };
        }
        bytes.extend_from_slice(&size);
        let size = std::str::from_utf8(&size)
            .ok()
            .and_then(|size| usize::from_str_radix(size, 16).ok())
            .ok_or_else(|| invalid("a packet without a length"))?;
        if size == 0 {
            return Ok((commands, bytes));
        }
        let Some(length) = size.checked_sub(4) else {
            return Err(invalid("a packet of an unknown kind"));
        };
        if start + size > LIMIT {
            return Err(invalid("too many refs in one push"));
        }
        bytes.resize(start + size, 0);
        reader.read_exact(&mut bytes[start + 4..]).await?;
        let line = &bytes[start + 4..start + 4 + length];
        if line.starts_with(b"shallow ") {
            continue;
        }
        commands.push(parse(line).ok_or_else(|| invalid("a push command that cannot be read"))?);
    }
}

fn parse(line: &[u8]) -> Option<Command> {
    // The first line carries the client's abilities behind a NUL.
    let line = line.split(|&byte| byte == 0).next()?;
    let line = std::str::from_utf8(line).ok()?.trim_end_matches('\n');
    let (old, rest) = line.split_once(' ')?;
    let (new, name) = rest.split_once(' ')?;
    let is_id = |id: &str| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id(old) && is_id(new) && !name.is_empty()).then(|| Command {
        old: old.to_owned(),
        new: new.to_owned(),
        name: name.to_owned(),
    })
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "1111111111111111111111111111111111111111";
    const Z: &str = "0000000000000000000000000000000000000000";

    fn packet(line: &str) -> String {
        format!("{:04x}{line}", line.len() + 4)
    }

    #[tokio::test]
    async fn reads_commands_and_leaves_the_pack() {
        let head = packet(&format!(
            "{Z} {A} refs/heads/é x\0report-status agent=git/2"
        )) + &packet(&format!("shallow {A}"))
            + &packet(&format!("{A} {Z} refs/tags/v1\n"))
            + "0000";
        let whole = head.clone() + "PACK rest";
        let mut reader = whole.as_bytes();
        let (commands, bytes) = read_commands(&mut reader).await.unwrap();
        assert_eq!(bytes, head.as_bytes());
        assert_eq!(reader, b"PACK rest");
        assert_eq!(commands.len(), 2);
        assert_eq!((commands[0].old.as_str(), commands[0].new.as_str()), (Z, A));
        assert_eq!(commands[0].name, "refs/heads/é x");
        assert_eq!(
            (commands[1].new.as_str(), commands[1].name.as_str()),
            (Z, "refs/tags/v1")
        );
    }

    #[tokio::test]
    async fn broken_heads_are_errors() {
        for bad in ["zzzz", "0002", "0008abcd0000", "00ff short"] {
            assert!(read_commands(&mut bad.as_bytes()).await.is_err(), "{bad}");
        }
        let (none, bytes) = read_commands(&mut &b""[..]).await.unwrap();
        assert!(none.is_empty() && bytes.is_empty());
    }
}
