;;; eglot-user.el --- A user of eglot, for tests  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real eglot with clangd, pyright and typescript-language-server, in a folder that goes away.

;;; Code:

(require 'cl-lib)
(require 'eglot nil t)
(require 'guest)
(require 'eca-context-eglot)

(declare-function eglot-managed-p "ext:eglot" t t)
(declare-function eglot--connect "ext:eglot" t t)
(declare-function eglot--guess-contact "ext:eglot" t t)
(defvar eglot-autoreconnect)
(defvar eglot-autoshutdown)
(defvar eglot-events-buffer-config)
(defvar eglot-server-programs)
(defvar eglot-sync-connect)

(setq eglot-autoreconnect nil
      eglot-sync-connect t
      eglot-autoshutdown nil
      ;; What is written there for the user to read is not compared.
      eglot-events-buffer-config '(:size 0 :format short)
      eglot-server-programs '(((c-mode c++-mode) . ("clangd" "--log=error"))
                              ((python-mode) . ("pyright-langserver" "--stdio"))
                              ((js-mode) . ("typescript-language-server" "--stdio"))))
(set (intern "eglot-events-buffer-size") 0)

;; Newer ones take messages in by timers, with whatever becomes of the match data.
(advice-add 'jsonrpc-connection-receive :around
            (lambda (receive &rest arguments)
              (save-match-data (apply receive arguments))))

(defmacro eglot-test-in (folder &rest body)
  "Evaluate BODY with FOLDER bound to a new project, a watch and no server.
It is gone afterwards, with its servers."
  (declare (indent 1) (debug (symbolp body)))
  `(guest-with-folder ,folder
     (let ((default-directory ,folder)
           (inhibit-message t)
           ;; How long a server takes to say its first word is not what is tested.
           (eca-context-eglot--patience 20)
           (eca-context-diagnostics-functions
            '(eca-context-eglot-diagnostics eca-context-flymake-diagnostics))
           (project-find-functions (list (lambda (_) (cons 'transient ,folder)))))
       (eca-context-eglot-watch)
       (unwind-protect (progn ,@body)
         (mapc #'eglot-test-kill (eglot-test-processes))
         ;; What reads their stderr is a process of its own, and ends later.
         (eglot-test-until 2
           (not (seq-some (lambda (process)
                            (string-match-p "\\`EGLOT .* stderr" (process-name process)))
                          (process-list))))
         (eca-context-eglot-unwatch)))))

(defmacro eglot-test-until (seconds condition)
  "Wait until CONDITION holds and return its value, at most SECONDS."
  (declare (indent 1) (debug t))
  (let ((deadline (make-symbol "deadline")))
    `(let ((,deadline (+ (float-time) ,seconds)))
       (while (and (not ,condition) (< (float-time) ,deadline))
         ;; eglot 1.9 fails to show a problem in text that was deleted meanwhile.
         (let ((debug-on-error nil))
           (accept-process-output nil 0.005)))
       ,condition)))

(defun eglot-test-freeze (process)
  "Let nothing be heard of PROCESS, a server's."
  (process-put process 'eglot-test-filter (process-filter process))
  (set-process-filter process t))

(defun eglot-test-thaw (process)
  "Let PROCESS be heard again."
  (set-process-filter process (process-get process 'eglot-test-filter)))

(defun eglot-test-processes ()
  "Return the processes of all servers."
  (seq-filter (lambda (process) (process-get process 'jsonrpc-connection)) (process-list)))

(defun eglot-test-kill (process)
  "Kill PROCESS, a server's, and wait until eglot knows."
  (cl-letf (((symbol-function 'eglot--error) #'ignore))
    (delete-process process)
    (eglot-test-until 5 (process-get process 'jsonrpc-sentinel-cleanup-started))))

(defun eglot-test-visit (file text)
  "Return a buffer that visits FILE with TEXT and is managed by eglot."
  (guest-write (expand-file-name file) text)
  (let ((buffer (find-file-noselect (expand-file-name file))))
    (with-current-buffer buffer
      (unless (eglot-managed-p)
        (eglot-test-join)))
    buffer))

;; Who waits for a server in jsonrpc leaves its filter by a throw; after that Emacs 28 does not give the
;; match data back when a filter has run, whoever's it is.
(defun eglot-test-join ()
  "Connect the current buffer to its server and wait until that manages it."
  (let ((eglot-sync-connect nil))
    (eglot-test-connect))
  (should (eglot-test-until 30 (eglot-managed-p))))

(defun eglot-test-connect ()
  "Connect the current buffer to its server."
  (cl-letf (((symbol-function 'yes-or-no-p) (lambda (&rest _) t)))
    (apply #'eglot--connect (eglot--guess-contact))))

(provide 'eglot-user)
;;; eglot-user.el ends here
