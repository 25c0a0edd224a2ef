//! Protocol buffer messages, written front to back.

use crate::base::protobuf::key;

/// Appends fields to a message.
pub trait Fields {
    fn varint(&mut self, value: u64);
    fn number(&mut self, field: u64, value: u64);
    fn fixed(&mut self, field: u64, value: u64);
    fn bytes(&mut self, field: u64, value: &[u8]);
    /// Appends a message that `write` writes.
    fn message(&mut self, field: u64, write: impl FnOnce(&mut Vec<u8>));
}

impl Fields for Vec<u8> {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(key::varint(field));
        self.varint(value);
    }

    fn fixed(&mut self, field: u64, value: u64) {
        self.varint(key::fixed64(field));
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(key::bytes(field));
        self.varint(value.len() as u64);
        self.extend_from_slice(value);
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut Vec<u8>)) {
        self.varint(key::bytes(field));
        // One byte for the length, which is enough for nearly all; more are inserted.
        let at = self.len();
        self.push(0);
        write(self);
        let len = self.len() - at - 1;
        if len < 0x80 {
            self[at] = len as u8;
            return;
        }
        let mut length = Vec::with_capacity(5);
        length.varint(len as u64);
        self.splice(at..=at, length);
    }
}
