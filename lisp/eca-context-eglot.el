;;; eca-context-eglot.el --- What eglot's servers know  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The watch over what eglot's servers publish, and all that is asked of them.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'eca-context-client)
(require 'eca-context-eglot-diagnostics)
(require 'eca-context-eglot-features)
(require 'eca-context-eglot-server)
(require 'eca-context-eglot-unvisited)

(declare-function eglot--managed-buffers "ext:eglot" t t)

(defconst eca-context-eglot--advice
  '((eglot-handle-notification :around eca-context-eglot--notified)
    (eglot--signal-textDocument/didOpen :before eca-context-eglot--make-way)
    (eglot--signal-textDocument/didOpen :after eca-context-eglot--sent)
    (eglot--signal-textDocument/didChange :after eca-context-eglot--sent))
  "Each advice: a function of eglot's, where, and the function.")

(defun eca-context-eglot-watch ()
  "Note from now on what eglot's servers publish, eglot loaded or not."
  (pcase-dolist (`(,name ,where ,function) eca-context-eglot--advice)
    (advice-add name where function)))

(defun eca-context-eglot-unwatch ()
  "Note no more what eglot's servers publish, and forget what was noted."
  (pcase-dolist (`(,name ,_ ,function) eca-context-eglot--advice)
    (advice-remove name function))
  (mapc #'eca-context-eglot--close (copy-sequence eca-context-eglot--opens))
  (clrhash eca-context-eglot--records)
  (clrhash eca-context-eglot--speakers))

;; eglot 1.9 signals an error where it cannot show what lies beyond the text; it was said all the same.
(defun eca-context-eglot--notified (original server method &rest params)
  "Call ORIGINAL with SERVER, METHOD and PARAMS; note what the server published.
How it gets on with what we have asked is not shown."
  (unwind-protect
      (unless (and (eq method '$/progress)
                   (eca-context-client-token-p (plist-get params :token)))
        (apply original server method params))
    (when (eq method 'textDocument/publishDiagnostics)
      (eca-context-eglot--guarded
        (eca-context-eglot--publish server (eca-context-eglot--path (plist-get params :uri))
                                    (let ((version (plist-get params :version)))
                                      (and (integerp version) version))
                                    (plist-get params :diagnostics))))))

(defun eca-context-eglot--publish (server true version diagnostics)
  "Note that SERVER published DIAGNOSTICS of the file TRUE in VERSION or nil."
  (unless (eca-context-eglot--versions-p server)
    (puthash server (if version 'versions t) eca-context-eglot--speakers))
  (let ((open (eca-context-eglot--open-of server true))
        (buffer (seq-find
                 (lambda (buffer)
                   (and (buffer-live-p buffer)
                        (with-current-buffer buffer
                          (equal true (eca-context-eglot--record-true
                                       (eca-context-eglot--record server))))))
                 (eglot--managed-buffers server))))
    (cond
     (open (eca-context-eglot--hear open version diagnostics))
     (buffer
      (with-current-buffer buffer
        (let* ((record (eca-context-eglot--record server))
               (is-present (eca-context-eglot--present-p server record version diagnostics)))
          (eca-context-eglot--say
           record diagnostics is-present
           (and is-present
                (eca-context-eglot--settling
                 server (eca-context-eglot--uri (eca-context-eglot--record-true record))))))))
     (t (eca-context-eglot--echo server true diagnostics)))))

(defun eca-context-eglot--sent (&rest _)
  "Note that the server of the current buffer was told of its text."
  (eca-context-eglot--guarded (eca-context-eglot--flushed)))

(defun eca-context-eglot--make-way (&rest _)
  "Close the file of the current buffer before eglot opens it."
  (eca-context-eglot--guarded
    (when (and eca-context-eglot--opens buffer-file-name)
      (let ((true (file-truename buffer-file-name)))
        (dolist (open (copy-sequence eca-context-eglot--opens))
          (when (equal true (eca-context-eglot--open-true open))
            (eca-context-eglot--close open)))))))

(provide 'eca-context-eglot)
;;; eca-context-eglot.el ends here
