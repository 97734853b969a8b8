;;; eca-context-lsp-mode.el --- What lsp-mode's servers know  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The watch over what lsp-mode's servers publish, and all that is asked of them.

;;; Code:

(require 'eca-context-client)
(require 'eca-context-lsp-mode-diagnostics)
(require 'eca-context-lsp-mode-features)
(require 'eca-context-lsp-mode-server)
(require 'eca-context-lsp-mode-unvisited)

(defun eca-context-lsp-mode-watch ()
  "Note from now on what the servers of lsp-mode publish."
  (advice-add 'lsp--on-diagnostics :around #'eca-context-lsp-mode--on-publish)
  (advice-add 'lsp--on-notification :around #'eca-context-lsp-mode--on-notification))

(defun eca-context-lsp-mode-unwatch ()
  "Note no more what the servers of lsp-mode publish, and forget what they did."
  (advice-remove 'lsp--on-diagnostics #'eca-context-lsp-mode--on-publish)
  (advice-remove 'lsp--on-notification #'eca-context-lsp-mode--on-notification)
  (clrhash eca-context-lsp-mode--servers)
  (clrhash eca-context-lsp-mode--hashes))

(defun eca-context-lsp-mode--on-publish (handle workspace params &rest more)
  "Call HANDLE with WORKSPACE, PARAMS and MORE, and note what was published.
What is about a file that is open for us alone is only noted."
  (unless (eca-context-lsp-mode--guarded
            (eca-context-lsp-mode--ours-p workspace params))
    ;; An error of those who show it does not undo the publish.
    (unwind-protect (apply handle workspace params more)
      (eca-context-lsp-mode--guarded
        (eca-context-lsp-mode--note workspace params)))))

(defun eca-context-lsp-mode--on-notification (handle workspace notification &rest more)
  "Call HANDLE with WORKSPACE, NOTIFICATION and MORE.
How a server gets on with what we have asked is not shown."
  (unless (eca-context-lsp-mode--guarded
            (and (equal (eca-context-client-get notification :method) "$/progress")
                 (eca-context-client-token-p
                  (eca-context-client-get (eca-context-client-get notification :params) :token))))
    (apply handle workspace notification more)))

(provide 'eca-context-lsp-mode)
;;; eca-context-lsp-mode.el ends here
