;;; lsp-mode-user.el --- A user of lsp-mode, for tests  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real lsp-mode with the real pyright and clangd, in folders that go away.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'guest)
(require 'eca-context-lsp-mode)

;; lsp-mode keeps its files in a folder of this run.
(defconst lsp-mode-test-home (file-name-as-directory (make-temp-file "eca-context-lsp" t))
  "Where lsp-mode may write.")
(add-hook 'kill-emacs-hook (lambda () (delete-directory lsp-mode-test-home t)))
(defvar lsp-session-file (concat lsp-mode-test-home "session"))
(defvar lsp-server-install-dir lsp-mode-test-home)
(defvar lsp-client-packages nil)
(defvar lsp-restart 'ignore)
(defvar lsp-enable-file-watchers nil)
(defvar lsp-enable-snippet nil)
(defvar lsp-headerline-breadcrumb-enable nil)
(defvar lsp-diagnostics-provider :flymake)
(defvar lsp-keep-workspace-alive t)
(defvar lsp-enable-suggest-server-download nil)
(defvar lsp-clients-clangd-args '("--log=error"))

;; C30 wants to see an lsp-mode that nobody uses.
(defvar lsp-mode-test-loaded-items
  ;; Who compiles a test has none of these.
  (progn (load "lsp-mode-autoloads" t t)
         (require 'lsp-mode nil t)
         (list (eca-context-lsp-mode-listed-items nil) (bound-and-true-p lsp--session)
               (file-exists-p lsp-session-file)))
  "What is listed right after lsp-mode was loaded, its session, its session file.")

;; Found at run time only: what compiles must do so without them.
(dolist (feature '(flycheck lsp-diagnostics lsp-clangd))
  (require feature nil t))

(declare-function lsp "ext:lsp-mode" t t)
(declare-function lsp-register-client "ext:lsp-mode" t t)
(declare-function lsp-stdio-connection "ext:lsp-mode" t t)
(declare-function lsp-workspace-folders-add "ext:lsp-mode" t t)
(declare-function lsp--session-workspaces "ext:lsp-mode" t t)
(declare-function lsp--workspace-proc "ext:lsp-mode" t t)
(declare-function make-lsp-client "ext:lsp-mode" t t)
(declare-function make-lsp-session "ext:lsp-mode" t t)
(defvar lsp--session)

(when (featurep 'lsp-mode)
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection '("pyright-langserver" "--stdio"))
                    :major-modes '(python-mode) :server-id 'pyright)))

(defun lsp-mode-test-wait (done what)
  "Wait for WHAT until the function DONE returns non-nil; return that."
  (let ((deadline (+ (float-time) 30))
        value)
    (while (not (setq value (funcall done)))
      (when (> (float-time) deadline)
        (error "No %s within 30 seconds" what))
      (accept-process-output nil 0.01))
    value))

(defmacro lsp-mode-test-in (folder &rest body)
  "Evaluate BODY with FOLDER bound to a new one that lsp-mode knows."
  (declare (indent 1) (debug (symbolp body)))
  `(guest-with-folder ,folder
     (let ((inhibit-message t)
           (eca-context-diagnostics-functions
            (cons 'eca-context-lsp-mode-diagnostics
                  (remq 'eca-context-lsp-mode-diagnostics eca-context-diagnostics-functions))))
       ;; Of a test before, it would go off in the midst of a guest's request.
       (when (timerp (bound-and-true-p undo-auto-current-boundary-timer))
         (cancel-timer undo-auto-current-boundary-timer)
         (setq undo-auto-current-boundary-timer nil))
       (setq lsp--session (make-lsp-session))
       (lsp-workspace-folders-add ,folder)
       (eca-context-lsp-mode-watch)
       (unwind-protect (progn ,@body)
         (eca-context-lsp-mode-unwatch)
         (dolist (workspace (lsp--session-workspaces lsp--session))
           (lsp-mode-test-kill workspace))))))

(defun lsp-mode-test-kill (workspace)
  "Kill the server of WORKSPACE."
  (let ((process (lsp--workspace-proc workspace)))
    (delete-process process)
    (lsp-mode-test-wait (lambda () (not (process-live-p process))) "end of the server")))

(defun lsp-mode-test-visit (file text)
  "Write TEXT into FILE, visit it with lsp-mode, and return the buffer."
  (guest-write file text)
  (let ((buffer (find-file-noselect file)))
    (with-current-buffer buffer
      (buffer-enable-undo)
      ;; It would run a compiler, and say the same in its own words.
      (remove-hook 'flymake-diagnostic-functions #'flymake-cc t)
      (lsp))
    buffer))

;; A process that is stopped would not be written to, either.
(defmacro lsp-mode-test-deaf (workspace &rest body)
  "Evaluate BODY while nothing is heard of WORKSPACE."
  (declare (indent 1) (debug (form body)))
  `(let* ((process (lsp--workspace-proc ,workspace))
          (filter (process-filter process)))
     (set-process-filter process t)
     (unwind-protect (progn ,@body)
       (when (process-live-p process)
         (set-process-filter process filter)))))

(provide 'lsp-mode-user)
;;; lsp-mode-user.el ends here
