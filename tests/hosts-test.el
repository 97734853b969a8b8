;;; hosts-test.el --- A host that does not answer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; TRAMP's connection is to a shell of this machine, which lives, stands still, or is dead.

;;; Code:

(require 'guest)
(require 'tramp)

(defun hosts-test-ask (method params roots)
  "Return the result of METHOD with PARAMS within ROOTS, which comes at once."
  (plist-get (with-timeout (4 (error "Emacs waited for the other host"))
               (guest-ask method params roots))
             :result))

(defun hosts-test-says (file roots)
  "Return what is said of `editor/getContext' for FILE within ROOTS.
That is the name at its beginning, its symbols, the open files, and the codes."
  (let ((result (hosts-test-ask "editor/getContext"
                                (list :uri (concat "file://" file) :position '(:line 0 :character 5)
                                      :include ["symbolAtPosition" "documentSymbols" "definitions"
                                                "references" "workspace"])
                                roots)))
    (list (plist-get (plist-get result :symbolAtPosition) :text)
          (mapcar (lambda (symbol) (plist-get symbol :name)) (plist-get result :documentSymbols))
          (mapcar (lambda (open) (file-name-nondirectory (plist-get open :uri)))
                  (plist-get (plist-get result :workspace) :openFiles))
          (mapcar (lambda (entry) (plist-get entry :code)) (plist-get result :unavailable)))))

(ert-deftest hosts-test-none-is-waited-for ()
  (guest-with-folder folder
    (let* ((tramp-methods `(("mock" (tramp-login-program "sh") (tramp-login-args (("-i")))
                             (tramp-remote-shell "/bin/sh") (tramp-remote-shell-args ("-c"))
                             (tramp-connection-timeout 10))))
           (tramp-verbose 0)
           (tramp-persistency-file-name nil)
           (inhibit-message t)
           (there (concat "/mock:" (system-name) ":" folder))
           (here (concat folder "c.py"))
           (buffer nil)
           (shell nil))
      (dolist (name '("a.py" "b.py" "c.py"))
        (guest-write (concat folder name) "def total(a):\n    return a\n"))
      (unwind-protect
          (progn
            (setq buffer (find-file-noselect (concat there "a.py")))
            (find-file-noselect here)
            (setq shell (tramp-get-connection-process (tramp-dissect-file-name there)))
            (should (process-live-p shell))
            (dolist (state '(SIGCONT SIGSTOP SIGKILL))
              (signal-process shell state)
              (when (eq state 'SIGKILL)
                (with-timeout (5 (error "The shell lives"))
                  (while (process-live-p shell) (accept-process-output nil 0.01))))
              (ert-info ((symbol-name state))
                (pcase-let ((`(,name ,symbols ,open ,codes)
                             (hosts-test-says (concat there "a.py") (list there folder))))
                  (should (equal (list name symbols open) '("total" ("total") ("a.py" "c.py"))))
                  (should-not (member "timeout" codes)))
                (should (equal (hosts-test-says (concat there "b.py") (list there))
                               '(nil nil ("a.py") ("remote" "remote" "remote" "remote"))))
                (pcase-let ((`(,name ,symbols ,open ,_) (hosts-test-says here (list folder))))
                  (should (equal (list name symbols open) '("total" ("total") ("c.py")))))
                (dolist (uri (list nil (concat "file://" there "a.py") (concat "file://" there "b.py")))
                  (should (plist-get (hosts-test-ask "editor/getDiagnostics"
                                                     (and uri (list :uri uri)) (list there folder))
                                     :diagnostics)))))
            (dolist (odd '("/nobody:host:/a.py" "/nobody::/a.py" "/mock:nobody.invalid:~/a"
                           "/mock:a|mock:b:/a.py" "/nobody:host:/../a.py"))
              (should (equal (cons odd (hosts-test-says odd (list "/nobody:host:/" there folder)))
                             (list odd nil nil '("a.py" "c.py")
                                   '("remote" "remote" "remote" "remote")))))
            ;; Nobody has called the host again.
            (should-not (tramp-get-connection-process (tramp-dissect-file-name there))))
        (when shell
          (delete-process shell))
        (when (buffer-live-p buffer)
          (kill-buffer buffer))))))

(provide 'hosts-test)
;;; hosts-test.el ends here
