;;; mcp-emacs.el --- An Emacs that agents ask  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Started by mcp_clients.py: visits a file, with eglot if that is wanted, and serves until it is killed.
;; What stands in the file that the environment variable MCP_EVAL names is evaluated and removed.

;;; Code:

(require 'eca-context-serve)

(declare-function eglot-test-join "eglot-user" ())

(defun mcp-emacs ()
  "Visit the file that the command line names, and serve.
The next argument is what this Emacs is called, a third one asks for eglot."
  (let ((file (pop command-line-args-left))
        (orders (getenv "MCP_EVAL"))
        (inhibit-message t))
    (setq eca-context-serve-name (pop command-line-args-left)
          ;; In batch no event of a watched folder is read, and while one waits, no end of a process is told.
          create-lockfiles nil)
    (switch-to-buffer (find-file-noselect file))
    (when (pop command-line-args-left)
      (require 'eglot-user)
      ;; What was published before that is of an unknown text.
      (eca-context-collect-watch)
      (eglot-test-join))
    (when (derived-mode-p 'emacs-lisp-mode)
      (load file nil t))
    (eca-context-serve-mode 1)
    (while t
      (accept-process-output nil 0.02)
      (when (file-exists-p orders)
        (load orders nil t t)
        (delete-file orders)))))

(provide 'mcp-emacs)
;;; mcp-emacs.el ends here
