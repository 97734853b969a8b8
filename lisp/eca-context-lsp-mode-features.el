;;; eca-context-lsp-mode-features.el --- What lsp-mode's servers know of a symbol  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Definitions, references, symbols and documentation, asked of the servers that manage the buffer, or
;; that would manage a file nobody visits.  The answers stay as lsp-mode hands them over.

;;; Code:

(require 'seq)
(require 'eca-context-client)
(require 'eca-context-job)
(require 'eca-context-lsp-mode-server)
(require 'eca-context-lsp-mode-unvisited)

(declare-function lsp--client-server-id "ext:lsp-mode" t t)
(declare-function lsp--path-to-uri "ext:lsp-mode" t t)
(declare-function lsp--workspace-client "ext:lsp-mode" t t)
(declare-function lsp--workspace-proc "ext:lsp-mode" t t)
(declare-function lsp--workspace-status "ext:lsp-mode" t t)
(declare-function lsp-feature? "ext:lsp-mode" t t)
(declare-function lsp-workspaces "ext:lsp-mode" t t)
(defvar lsp--cur-workspace)

(defun eca-context-lsp-mode-definitions (request callback)
  "Return where the symbol at point is defined, by the current buffer's servers.
REQUEST is a plist: `:path' of the file, `:deadline', a `float-time', `:copy' if
the buffer is a copy of a file that nobody visits.  The value is nil where no
server is, an outcome that tells why there is no answer, or `:async'; then
CALLBACK is called once with outcomes, raw, one for each role asked for."
  (eca-context-lsp-mode--feature 'definitions request callback))

(defun eca-context-lsp-mode-references (request callback)
  "Return what refers to the symbol at point, by the current buffer's servers.
REQUEST, CALLBACK and value are as for `eca-context-lsp-mode-definitions'."
  (eca-context-lsp-mode--feature 'references request callback))

(defun eca-context-lsp-mode-document-symbols (request callback)
  "Return the symbols of the current buffer, by its servers.
REQUEST, CALLBACK and value are as for `eca-context-lsp-mode-definitions'."
  (eca-context-lsp-mode--feature 'symbols request callback))

(defun eca-context-lsp-mode-enclosing-symbols (request callback)
  "Return the symbols of the current buffer, those around point among them.
REQUEST, CALLBACK and value are as for `eca-context-lsp-mode-definitions'."
  (eca-context-lsp-mode--feature 'symbols request callback))

(defun eca-context-lsp-mode-documentation (request callback)
  "Return what is known by the current buffer's servers of the symbol at point.
REQUEST, CALLBACK and value are as for `eca-context-lsp-mode-definitions'."
  (eca-context-lsp-mode--feature 'documentation request callback))

(dolist (function '(eca-context-lsp-mode-definitions eca-context-lsp-mode-references
                    eca-context-lsp-mode-document-symbols eca-context-lsp-mode-enclosing-symbols
                    eca-context-lsp-mode-documentation))
  (put function 'eca-context-needs 'lsp-mode))

(defun eca-context-lsp-mode--feature (feature request callback)
  "Return what there is of FEATURE at point, for REQUEST and CALLBACK."
  (cond
   ;; The server has an older text open and cannot be given the newer one.
   ((plist-get request :outdated) nil)
   ((plist-get request :copy)
    (let ((opens (eca-context-lsp-mode--show (plist-get request :path))))
      (when opens
        (eca-context-client-provide
         feature
         (mapcar (lambda (open)
                   (eca-context-lsp-mode--client (eca-context-lsp-mode--open-workspace open)
                                                 (eca-context-lsp-mode--open-uri open)
                                                 (lambda () (eca-context-lsp-mode--leave open))))
                 opens)
         request callback))))
   ((eca-context-lsp-mode--managed-p)
    (let* ((point (point))
           (soon (+ (float-time) eca-context-lsp-mode--patience))
           (soon (min soon (or (plist-get request :deadline) soon)))
           (ask (lambda ()
                  (save-excursion
                    (goto-char point)
                    (eca-context-lsp-mode--ask-running feature request callback)))))
      (if (not (eca-context-lsp-mode--starting))
          (funcall ask)
        (let ((buffer (current-buffer)))
          (eca-context-job-await
           soon
           (lambda () (not (eca-context-lsp-mode--starting)))
           (lambda (_)
             (let ((said (condition-case err
                             (with-current-buffer buffer
                               (save-restriction
                                 (widen)
                                 (funcall ask)))
                           (error (eca-context-lsp-mode--failure
                                   "error" (error-message-string err))))))
               (unless (eq said :async)
                 (funcall callback said)))))))))))

(defun eca-context-lsp-mode--starting ()
  "Return those servers of the current buffer that are being started."
  (seq-filter (lambda (workspace)
                (and (eq (lsp--workspace-status workspace) 'starting)
                     (process-live-p (lsp--workspace-proc workspace))))
              (lsp-workspaces)))

(defun eca-context-lsp-mode--ask-running (feature request callback)
  "Ask the running servers of the current buffer for FEATURE at point.
REQUEST, CALLBACK and value are as for `eca-context-lsp-mode-definitions'."
  (let ((live (seq-filter #'eca-context-lsp-mode--live-p (lsp-workspaces))))
    (cond
     (live
      (eca-context-lsp-mode--flush)
      (eca-context-client-provide
       feature
       (mapcar (lambda (workspace)
                 (eca-context-lsp-mode--client workspace (lsp--path-to-uri buffer-file-name)))
               live)
       request callback))
     ((eca-context-lsp-mode--starting)
      (append (eca-context-lsp-mode--failure "starting" "the language server is starting")
              '(:retry t)))
     (t (eca-context-lsp-mode--failure "error" "the language server has ended")))))

(defun eca-context-lsp-mode--client (workspace uri &optional via)
  "Return a client that speaks to WORKSPACE about the document URI.
VIA is called when no more is asked of it."
  (make-eca-context-client
   :provider "lsp-mode" :server workspace :uri uri :via via
   :name (format "%s" (lsp--client-server-id (lsp--workspace-client workspace)))
   ;; It offers servers no other.
   :encoding "utf-16"
   :host (file-remote-p default-directory)
   :alive (lambda () (eca-context-lsp-mode--live-p workspace))
   :can (lambda (method)
          (let ((lsp--cur-workspace workspace))
            (lsp-feature? method)))
   :send (lambda (method params done)
           (eca-context-lsp-mode--request workspace method params done))))

(provide 'eca-context-lsp-mode-features)
;;; eca-context-lsp-mode-features.el ends here
