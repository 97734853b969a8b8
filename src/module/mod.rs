//! The Emacs face.
