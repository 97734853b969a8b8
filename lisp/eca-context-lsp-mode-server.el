;;; eca-context-lsp-mode-server.el --- Talk to lsp-mode's servers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Which server is whose, what it can, and how it is asked.  lsp-mode is a foreign package: its names
;; stand only in the files eca-context-lsp-mode*, and nothing of it is needed until a buffer uses it.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'eca-context-client)

(declare-function lsp--client-server-id "ext:lsp-mode" t t)
(declare-function lsp--fix-path-casing "ext:lsp-mode" t t)
(declare-function lsp--flush-delayed-changes "ext:lsp-mode" t t)
(declare-function lsp--path-to-uri "ext:lsp-mode" t t)
(declare-function lsp--workspace-buffers "ext:lsp-mode" t t)
(declare-function lsp--workspace-proc "ext:lsp-mode" t t)
(declare-function lsp--workspace-status "ext:lsp-mode" t t)
(declare-function lsp-cancel-request-by-token "ext:lsp-mode" t t)
(declare-function lsp-feature? "ext:lsp-mode" t t)
(declare-function lsp-request-async "ext:lsp-mode" t t)
(declare-function lsp-workspaces "ext:lsp-mode" t t)
(defvar lsp--cur-workspace)
(defvar lsp--delayed-requests)
(defvar lsp--last-active-workspaces)

(defconst eca-context-lsp-mode--functions
  '(lsp--client-server-id lsp--fix-path-casing lsp--flush-delayed-changes lsp--matching-clients?
    lsp--on-diagnostics lsp--on-notification lsp--path-to-uri lsp--uri-to-path lsp--workspace-buffers
    lsp--workspace-client lsp--workspace-diagnostics lsp--workspace-proc lsp--workspace-status
    lsp-buffer-language lsp-cancel-request-by-token lsp-diagnostics lsp-feature? lsp-notify lsp-request-async
    lsp-session-folder->servers lsp-workspaces)
  "The functions of lsp-mode without which nothing is asked of it.")

(defconst eca-context-lsp-mode--variables
  '(lsp--cur-version lsp--cur-workspace lsp--delayed-requests lsp--last-active-workspaces lsp--session)
  "The variables of lsp-mode without which nothing is asked of it.")

(defconst eca-context-lsp-mode--patience 2
  "How many seconds something is waited for that may never come.")

(defconst eca-context-lsp-mode--longest 8
  "After how many seconds of waiting for what should come it is given up.")

(defun eca-context-lsp-mode-missing ()
  "Return the names that are needed of lsp-mode and not there, a list."
  (append (seq-remove #'fboundp eca-context-lsp-mode--functions)
          (seq-remove #'boundp eca-context-lsp-mode--variables)))

(defun eca-context-lsp-mode--usable-p ()
  "Return non-nil if lsp-mode is loaded and has what is needed."
  (and (featurep 'lsp-mode) (null (eca-context-lsp-mode-missing))))

(defmacro eca-context-lsp-mode--guarded (&rest body)
  "Evaluate BODY; an error is nil, match data and the echo area stay as they are."
  (declare (indent 0) (debug (body)))
  `(let ((inhibit-message t)
         (message-log-max nil))
     (condition-case nil
         (save-match-data ,@body)
       (error nil))))

;;;; Outcomes

(defun eca-context-lsp-mode--failure (status reason)
  "Return an outcome of STATUS that gives REASON."
  (list :provider "lsp-mode" :kind "semantic" :status status :reason reason))

;;;; Which server

(defun eca-context-lsp-mode--managed-p ()
  "Return non-nil if lsp-mode has to do with the current buffer."
  (and (eca-context-lsp-mode--usable-p)
       buffer-file-name
       (or (lsp-workspaces) (bound-and-true-p lsp-mode))))

(defun eca-context-lsp-mode--live-p (workspace)
  "Return non-nil if the server of WORKSPACE can be spoken to."
  (and (eq (lsp--workspace-status workspace) 'initialized)
       (process-live-p (lsp--workspace-proc workspace))))

(defun eca-context-lsp-mode--file ()
  "Return the name of the current buffer's file as lsp-mode has it in tables."
  (lsp--fix-path-casing (or buffer-file-name "")))

(defun eca-context-lsp-mode--buffer (workspace file)
  "Return the buffer that visits FILE and has its text in WORKSPACE, or nil."
  (seq-find (lambda (buffer)
              (and (bufferp buffer)
                   (buffer-live-p buffer)
                   (with-current-buffer buffer
                     (eca-context-lsp-mode--same-p file (eca-context-lsp-mode--file)))))
            (lsp--workspace-buffers workspace)))

(defun eca-context-lsp-mode--same-p (a b)
  "Return non-nil if the file names A and B are of one file."
  (or (equal a b)
      (and (equal (file-name-nondirectory a) (file-name-nondirectory b))
           (not (file-remote-p a))
           (not (file-remote-p b))
           (equal (file-truename a) (file-truename b)))))

;;;; Talking

(defun eca-context-lsp-mode--flush ()
  "Have lsp-mode send what it has delayed."
  (when lsp--delayed-requests
    (eca-context-lsp-mode--guarded (lsp--flush-delayed-changes))))

(defun eca-context-lsp-mode--request (workspace method params done)
  "Ask WORKSPACE by METHOD with PARAMS; call DONE once with its answer.
DONE gets (RESULT CODE MESSAGE); CODE is an error's, or nil.  Return a function
that cancels the request, or nil where it was not sent."
  (let ((token (make-symbol "eca-context"))
        (say (lambda (&rest arguments)
               (eca-context-lsp-mode--guarded (apply done arguments)))))
    (condition-case err
        ;; It is not the user who has used this server last.
        (let ((lsp--cur-workspace workspace)
              (lsp--last-active-workspaces nil)
              (inhibit-message t)
              (message-log-max nil))
          (lsp-request-async
           method params
           (lambda (results) (funcall say (cdar results) nil nil))
           :mode 'detached :no-merge t :cancel-token token
           :error-handler (lambda (err)
                            (funcall say nil (or (eca-context-client-get err :code) -1)
                                     (eca-context-client-get err :message))))
          (lambda ()
            (eca-context-lsp-mode--guarded
              (when (process-live-p (lsp--workspace-proc workspace))
                (lsp-cancel-request-by-token token)))))
      (error (funcall say nil -1 (error-message-string err))
             nil))))

(defun eca-context-lsp-mode--barrier (workspace path done)
  "Call DONE when WORKSPACE has taken in all that it was sent about PATH."
  (eca-context-lsp-mode--guarded
    (let ((method (let ((lsp--cur-workspace workspace))
                    (seq-find #'lsp-feature? '("textDocument/hover" "textDocument/documentHighlight"
                                               "textDocument/definition"
                                               "textDocument/documentSymbol")))))
      (when method
        (eca-context-lsp-mode--request workspace method
                                       (list :textDocument (list :uri (lsp--path-to-uri path))
                                             :position (list :line 0 :character 0))
                                       (lambda (&rest _) (funcall done)))))))

(provide 'eca-context-lsp-mode-server)
;;; eca-context-lsp-mode-server.el ends here
