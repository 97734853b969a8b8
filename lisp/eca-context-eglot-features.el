;;; eca-context-eglot-features.el --- What eglot's servers know of a symbol  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Definitions, references, symbols and documentation, asked of the server that manages the buffer, or
;; that would manage a file nobody visits.  The answers stay as the server gave them.

;;; Code:

(require 'eca-context-client)
(require 'eca-context-eglot-diagnostics)
(require 'eca-context-eglot-server)
(require 'eca-context-eglot-unvisited)

(declare-function jsonrpc-running-p "ext:jsonrpc" t t)
(declare-function eglot--managed-buffers "ext:eglot" t t)
(declare-function eglot--signal-textDocument/didChange "ext:eglot" t t)

(defun eca-context-eglot-definitions (request callback)
  "Return where the symbol at point is defined, by the current buffer's server.
REQUEST is a plist: `:path' of the file, `:deadline', a `float-time', `:copy' if
the buffer is a copy of a file that nobody visits.  The value is nil where no
server is, an outcome that tells why there is no answer, or `:async'; then
CALLBACK is called once with outcomes, raw, one for each role asked for."
  (eca-context-eglot--feature 'definitions request callback))

(defun eca-context-eglot-references (request callback)
  "Return what refers to the symbol at point, by the current buffer's server.
REQUEST, CALLBACK and value are as for `eca-context-eglot-definitions'."
  (eca-context-eglot--feature 'references request callback))

(defun eca-context-eglot-document-symbols (request callback)
  "Return the symbols of the current buffer, by its server.
REQUEST, CALLBACK and value are as for `eca-context-eglot-definitions'."
  (eca-context-eglot--feature 'symbols request callback))

(defun eca-context-eglot-enclosing-symbols (request callback)
  "Return the symbols of the current buffer, those around point among them.
REQUEST, CALLBACK and value are as for `eca-context-eglot-definitions'."
  (eca-context-eglot--feature 'symbols request callback))

(defun eca-context-eglot-documentation (request callback)
  "Return what is known by the current buffer's server of the symbol at point.
REQUEST, CALLBACK and value are as for `eca-context-eglot-definitions'."
  (eca-context-eglot--feature 'documentation request callback))

(dolist (function '(eca-context-eglot-definitions eca-context-eglot-references
                    eca-context-eglot-document-symbols eca-context-eglot-enclosing-symbols
                    eca-context-eglot-documentation))
  (put function 'eca-context-needs 'eglot--managed-mode))

(defun eca-context-eglot--feature (feature request callback)
  "Return what there is of FEATURE at point, for REQUEST and CALLBACK."
  (cond
   ;; The server has an older text open and cannot be given the newer one.
   ((plist-get request :outdated) nil)
   ((plist-get request :copy)
    (let ((open (eca-context-eglot--show (plist-get request :path))))
      (when open
        (eca-context-eglot--flush-all (eca-context-eglot--open-server open))
        (eca-context-client-provide
         feature
         (list (eca-context-eglot--client (eca-context-eglot--open-server open)
                                          (eca-context-eglot--open-uri open)
                                          (lambda () (eca-context-eglot--leave open))))
         request callback))))
   (t
    (let ((point (point)))
      (eca-context-eglot--provide
       request callback
       (lambda (request callback)
         (let ((server (eca-context-eglot--live-server)))
           (if (null server)
               (eca-context-eglot--failure "error" "the language server is gone")
             (eca-context-eglot--flush-all server)
             (save-excursion
               (goto-char point)
               (eca-context-client-provide
                feature
                (list (eca-context-eglot--client
                       server (eca-context-eglot--uri (eca-context-eglot--record-true
                                                       (eca-context-eglot--record server)))))
                request callback))))))))))

(defun eca-context-eglot--flush-all (server)
  "Send what SERVER has not been told of the texts of its buffers.
What is known of one file follows from the others, too."
  (dolist (buffer (eglot--managed-buffers server))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (condition-case nil
            (when (eca-context-eglot--managed-p)
              (eglot--signal-textDocument/didChange))
          (error nil))))))

(defun eca-context-eglot--client (server uri &optional via)
  "Return a client that speaks to SERVER about the document URI.
VIA is called when no more is asked of it."
  (make-eca-context-client
   :provider "eglot" :server server :uri uri :via via
   :name (or (eca-context-eglot--name server) "eglot")
   :encoding (eca-context-eglot--encoding server)
   :host (file-remote-p default-directory)
   :alive (lambda () (jsonrpc-running-p server))
   :can (lambda (method)
          (eca-context-eglot--capability
           server (intern (format ":%sProvider" (file-name-nondirectory method)))))
   :send (lambda (method params done)
           (eca-context-eglot--ask server (intern (concat ":" method)) params done))))

(provide 'eca-context-eglot-features)
;;; eca-context-eglot-features.el ends here
