;;; eca-context-background.el --- Files that nobody visits  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A copy of a file's text in a hidden buffer, in the file's mode, and the checkers that may look at it.
;; Nothing in such a file is evaluated: no local variables, no hooks, and of all checkers only those that
;; are known to read and not to run what they check.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'eca-context)
(require 'eca-context-flycheck)
(require 'eca-context-flymake)

(defvar flycheck-checkers)
(defvar flycheck-check-syntax-automatically)
(defvar flycheck-disabled-checkers)
(defvar flycheck-mode-hook)
(declare-function flycheck-mode "ext:flycheck" (&optional arg) t)
(declare-function trusted-content-p "ext:files" () t)

(defcustom eca-context-background-checkers
  '(python-flymake elisp-flymake-checkdoc sh-shellcheck-flymake
    python-pycompile python-flake8 python-ruff sh-shellcheck sh-bash sh-posix-dash json-python-json)
  "Checkers that may look at a file that no buffer visits.
Names of flymake's backends and of flycheck's checkers.  A checker that runs
parts of what it checks, as byte compilers run macros and some compilers run
build files, does not belong here: the agent may ask about any file."
  :type '(repeat symbol)
  :group 'eca-context)

(defvar eca-context-background--timers (make-hash-table :test #'eq :weakness 'key)
  "Background buffers and the timers that their modes have started.")

(defun eca-context-background-buffer (path)
  "Return a new hidden buffer with the text of PATH, in its mode without hooks.
A file that cannot be read is an error."
  (let* ((buffer-list-update-hook nil)
         (buffer (generate-new-buffer " *eca-context*"))
         (timers (append timer-list timer-idle-list)))
    (condition-case err
        (with-current-buffer buffer
          (let ((enable-local-variables nil)
                (enable-local-eval nil)
                (enable-dir-local-variables nil)
                (inhibit-interaction t)
                (inhibit-message t)
                (message-log-max nil)
                (find-file-hook nil))
            (insert-file-contents path)
            (setq default-directory (file-name-directory path))
            (eca-context-background--set-mode path)
            (set-buffer-modified-p nil)))
      (error (eca-context-background-kill buffer)
             (signal (car err) (cdr err))))
    (puthash buffer (seq-difference (append timer-list timer-idle-list) timers #'eq)
             eca-context-background--timers)
    buffer))

(defun eca-context-background--set-mode (path)
  "Put the current buffer, a copy of PATH, into its mode.
A mode with a text of its own making, as the listing of an archive, is none."
  (let ((text (list (buffer-chars-modified-tick) (buffer-size)))
        (buffers (buffer-list)))
    (condition-case nil
        (let ((buffer-file-name path))
          (delay-mode-hooks (set-auto-mode t)))
      (error nil))
    (unless (equal text (list (buffer-chars-modified-tick) (buffer-size)))
      (delay-mode-hooks (fundamental-mode))
      (let ((inhibit-read-only t))
        (widen)
        (erase-buffer)
        (insert-file-contents path))
      (dolist (buffer (seq-difference (buffer-list) buffers #'eq))
        (unless (get-buffer-process buffer)
          (let ((kill-buffer-query-functions nil))
            (kill-buffer buffer)))))))

(defun eca-context-background-kill (buffer)
  "Kill BUFFER, which `eca-context-background-buffer' made, and its mode's timers.
Only what its mode has put there is told."
  (when (buffer-live-p buffer)
    (mapc #'cancel-timer (gethash buffer eca-context-background--timers))
    (let ((buffer-list-update-hook nil)
          (kill-buffer-query-functions nil))
      (cl-letf (((default-value 'kill-buffer-hook) nil))
        (kill-buffer buffer)))))

(defun eca-context-background-diagnostics (request callback)
  "Have the user's own checkers look at the current background buffer.
REQUEST and CALLBACK are those of `eca-context-job-run'.  Nil if the user has no
checker for such files that may look at one that nobody visits."
  (cond
   ((eca-context-background--flycheck-p)
    (eca-context-background--start-flycheck)
    (eca-context-flycheck-diagnostics request callback))
   ((eca-context-background--flymake-p)
    (eca-context-background--start-flymake)
    (eca-context-flymake-diagnostics request callback))))

(defun eca-context-background--hooked-p (functions)
  "Return non-nil if one of FUNCTIONS is in a hook of the mode or its parents."
  (let ((mode major-mode)
        found)
    (while (and mode (not found))
      (let ((hook (intern-soft (format "%s-hook" mode))))
        (setq found (and hook (boundp hook)
                         (seq-intersection functions (ensure-list (default-value hook))))
              mode (get mode 'derived-mode-parent))))
    found))

(defun eca-context-background--flymake-p ()
  "Return non-nil if the user has flymake check such files, and something may."
  (and (eca-context-background--hooked-p '(flymake-mode flymake-mode-on turn-on-flymake))
       (eca-context-background--backends)))

(defun eca-context-background--backends ()
  "Return flymake's backends for the current buffer that may look at it."
  (seq-filter (lambda (backend)
                (or (memq backend eca-context-background-checkers)
                    (and (eq backend 'elisp-flymake-byte-compile)
                         (eca-context-background--trusted-p))))
              flymake-diagnostic-functions))

(defun eca-context-background--trusted-p ()
  "Return non-nil if the user trusts the current buffer's file to be evaluated."
  (and (fboundp 'trusted-content-p)
       (not (version< emacs-version "30"))
       (trusted-content-p)))

(defun eca-context-background--start-flymake ()
  "Switch flymake on in the current buffer with the backends that may look at it."
  (let ((backends (eca-context-background--backends))
        (flymake-mode-hook nil)
        (flymake-start-on-flymake-mode nil))
    (setq-local flymake-diagnostic-functions backends)
    (flymake-mode 1)))

(defun eca-context-background--flycheck-p ()
  "Return non-nil if the user has flycheck check such files, and something may."
  (and (featurep 'flycheck)
       (or (bound-and-true-p global-flycheck-mode)
           (eca-context-background--hooked-p '(flycheck-mode)))
       (eca-context-background--checkers)))

(defun eca-context-background--checkers ()
  "Return flycheck's checkers that may look at files that nobody visits."
  (seq-intersection flycheck-checkers eca-context-background-checkers))

(defun eca-context-background--start-flycheck ()
  "Switch flycheck on in the current buffer with the checkers that may look at it."
  (let ((checkers (eca-context-background--checkers))
        (flycheck-mode-hook nil)
        (flycheck-check-syntax-automatically nil))
    (setq-local flycheck-checkers checkers)
    (flycheck-mode 1))
  (setq-local flycheck-check-syntax-automatically '(idle-change)))

(provide 'eca-context-background)
;;; eca-context-background.el ends here
