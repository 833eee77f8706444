//! What a request carries: JSON, or a form of files that are read as they go and never held
//! whole.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read},
    path::Path,
    pin::Pin,
    task::{Context, Poll},
};

use http::HeaderValue;
use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::failure::Failure;

/// Bytes of a file that are read at once.
const CHUNK_BYTES: u64 = 64 * 1024;
/// The form's field that holds the files. Source: contract 2.4.
const FILES: &str = "files";

/// The body of a request.
#[derive(Debug, Default)]
pub(super) struct RequestBody {
    kind: Option<HeaderValue>,
    pieces: VecDeque<BodyPart>,
}

#[derive(Debug)]
enum BodyPart {
    Bytes(Bytes),
    File {
        file: File,
        /// How the file was called when it was asked for.
        name: String,
        /// Bytes that are still to come.
        left: u64,
    },
}

impl RequestBody {
    /// JSON text.
    pub(super) fn json(text: Vec<u8>) -> Self {
        Self {
            kind: Some(HeaderValue::from_static("application/json")),
            pieces: [BodyPart::Bytes(text.into())].into(),
        }
    }

    /// A form that brings files. `boundary` is 1 to 70 letters and digits that no file holds;
    /// with the same one the same files make the same bytes, so that a repeat is known as one.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what is no file, or cannot be read.
    pub(super) fn form(boundary: &str, files: &[impl AsRef<Path>]) -> Result<Self, Failure> {
        let mut pieces = VecDeque::new();
        for path in files.iter().map(AsRef::as_ref) {
            let (file, left) = opened(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{FILES}\"; \
                 filename=\"{}\"\r\n\r\n",
                quoted(&name)
            );
            pieces.push_back(BodyPart::Bytes(head.into()));
            let name = path.display().to_string();
            pieces.push_back(BodyPart::File { file, name, left });
            pieces.push_back(BodyPart::Bytes(Bytes::from_static(b"\r\n")));
        }
        pieces.push_back(BodyPart::Bytes(format!("--{boundary}--\r\n").into()));
        let kind = format!("multipart/form-data; boundary={boundary}");
        let kind = HeaderValue::try_from(kind)
            .map_err(|_| Failure::Usage("this is no boundary of a form.".to_owned()))?;
        Ok(Self {
            kind: Some(kind),
            pieces,
        })
    }

    /// Its media type; `None` when there is no body.
    pub(super) fn kind(&self) -> Option<&HeaderValue> {
        self.kind.as_ref()
    }

    fn next(&mut self) -> Option<io::Result<Bytes>> {
        match self.pieces.front_mut()? {
            BodyPart::File { left: 0, .. } => {
                self.pieces.pop_front();
                self.next()
            }
            BodyPart::File { file, name, left } => {
                let read = chunk(file, *left).inspect(|bytes| *left -= bytes.len() as u64);
                Some(read.map_err(|error| {
                    io::Error::other(format!("{name} cannot be read to its end: {error}"))
                }))
            }
            BodyPart::Bytes(bytes) => {
                let bytes = std::mem::take(bytes);
                self.pieces.pop_front();
                Some(Ok(bytes))
            }
        }
    }

    fn len(&self) -> u64 {
        let lengths = self.pieces.iter().map(|piece| match piece {
            BodyPart::Bytes(bytes) => bytes.len() as u64,
            BodyPart::File { left, .. } => *left,
        });
        lengths.sum()
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    /// Reads on the thread that sends: nothing else waits for it.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = self.next();
        Poll::Ready(piece.map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len())
    }
}

/// A file with its size.
fn opened(path: &Path) -> Result<(File, u64), Failure> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Failure::Usage(format!("{} cannot be read: {why}.", path.display()))
    };
    // A pipe would wait for its writer before it said that it is none.
    let kind = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
    if !kind.is_file() {
        return Err(unreadable(&"it is no file"));
    }
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let size = file.metadata().map_err(|error| unreadable(&error))?.len();
    Ok((file, size))
}

/// Up to [`CHUNK_BYTES`] of the `left` bytes, at least one.
fn chunk(file: &mut File, left: u64) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    file.take(left.min(CHUNK_BYTES)).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.into())
}

/// A file's name in a form. Source: WHATWG HTML, "Multipart form data".
fn quoted(name: &str) -> String {
    name.replace('\r', "%0D")
        .replace('\n', "%0A")
        .replace('"', "%22")
}

#[cfg(test)]
mod tests {
    use super::*;
    use guildhall_world::scratch::Scratch;

    fn read(mut payload: RequestBody) -> Vec<u8> {
        let length = payload.len();
        let mut bytes = Vec::new();
        while let Some(piece) = payload.next() {
            bytes.extend_from_slice(&piece.unwrap());
        }
        assert_eq!(bytes.len() as u64, length, "the length was told before");
        assert!(payload.is_end_stream());
        bytes
    }

    #[test]
    fn a_form_is_the_same_bytes_each_time() {
        let scratch = Scratch::new("form");
        let plain = scratch.path().join("a \"b\"\n.txt");
        let large = scratch.path().join("large");
        let empty = scratch.path().join("empty");
        std::fs::write(&plain, "hello").unwrap();
        std::fs::write(&large, vec![b'x'; 200_000]).unwrap();
        std::fs::write(&empty, "").unwrap();
        let files = [plain, large, empty];
        let payload = RequestBody::form("B1", &files).unwrap();
        assert_eq!(payload.kind().unwrap(), "multipart/form-data; boundary=B1");
        let bytes = read(payload);
        let expected = format!(
            "--B1\r\nContent-Disposition: form-data; name=\"files\"; \
             filename=\"a %22b%22%0A.txt\"\r\n\r\nhello\r\n--B1\r\n\
             Content-Disposition: form-data; name=\"files\"; filename=\"large\"\r\n\r\n{}\r\n\
             --B1\r\nContent-Disposition: form-data; name=\"files\"; filename=\"empty\"\r\n\r\n\
             \r\n--B1--\r\n",
            "x".repeat(200_000)
        );
        assert!(bytes == expected.as_bytes());
        assert!(read(RequestBody::form("B1", &files).unwrap()) == bytes);
    }

    #[test]
    fn what_is_no_file_or_becomes_shorter_is_told() {
        let scratch = Scratch::new("form");
        let file = scratch.path().join("file");
        for path in [scratch.path(), &file] {
            assert!(
                RequestBody::form("B", &[path]).is_err(),
                "{}",
                path.display()
            );
        }
        std::fs::write(&file, "hello").unwrap();
        let mut payload = RequestBody::form("B", &[&file]).unwrap();
        std::fs::write(&file, "").unwrap();
        assert!(payload.next().unwrap().is_ok());
        let error = payload.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("cannot be read to its end"), "{error}");
    }
}
