;;; guest-test.el --- Nothing of the user's is changed by a request  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Each kind of request, in a world with much to lose.

;;; Code:

(require 'flymake)
(require 'guest)

(defconst guest-test-text
  ";;; ours.el --- Test  -*- lexical-binding: t -*-\n(defun ours-f (x)\n  x)\n\n\t(list \"😀\" (ours-f 1))\n(ours-g)\n"
  "The text of the file that is asked about.")

(defmacro guest-test-in-a-world (&rest body)
  "Evaluate BODY in a world with `folder', `file', `uri' and much to lose."
  (declare (debug (body)))
  `(guest-with-folder folder
     (let* ((file (expand-file-name "caf é#1.el" folder))
            (uri (guest-write file guest-test-text))
            (kill-ring (list "killed"))
            (recentf-list (list "/recent")))
       (ignore uri)
       (guest-write (expand-file-name "other.txt" folder) "other\n")
       (delete-other-windows)
       (with-current-buffer (find-file-noselect (expand-file-name "other.txt" folder))
         (buffer-enable-undo)
         (insert "unsaved ")
         (goto-char 3))
       (switch-to-buffer (find-file-noselect file))
       (buffer-enable-undo)
       (goto-char (point-max))
       (insert "; unsaved\n")
       (undo-boundary)
       (forward-line -2)
       (push-mark (point) t t)
       (push-mark 5 t t)
       (flymake-mode -1)
       (narrow-to-region (line-beginning-position) (point-max))
       (split-window)
       (other-window 1)
       (switch-to-buffer "*scratch*")
       (xref-push-marker-stack (copy-marker 1))
       (unwind-protect (progn ,@body)
         (delete-other-windows)))))

(defun guest-test-flymake (report &rest _)
  "Give REPORT two problems."
  (funcall report (list (flymake-make-diagnostic (current-buffer) 50 55 :error "bad")
                        (flymake-make-diagnostic (current-buffer) 60 61 :note "so so"))))

(ert-deftest guest-test-context-of-a-visited-file ()
  (guest-test-in-a-world
   (let ((result (guest-check "editor/getContext"
                              (list :uri uri :position '(:line 4 :character 13)) (list folder))))
     (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "ours-f"))
     (should (equal (plist-get (plist-get (plist-get result :symbolAtPosition) :range) :start)
                    '(:line 4 :character 13)))
     (should (plist-get (plist-get result :document) :modified))
     (should (plist-get result :documentSymbols)))))

(ert-deftest guest-test-context-by-symbol-and-by-point ()
  (guest-test-in-a-world
   (should (equal (plist-get (guest-check "editor/getContext"
                                          (list :uri uri :position '(:line 4) :symbol "ours-f")
                                          (list folder))
                             :position)
                  '(:line 4 :character 13)))
   (should (equal (plist-get (plist-get (guest-check "editor/getContext" nil (list folder))
                                        :position)
                             :line)
                  5))))

(ert-deftest guest-test-context-of-a-file-nobody-visits ()
  (guest-test-in-a-world
   (let* ((unread (guest-write (expand-file-name "unread.el" folder) guest-test-text))
          (result (guest-check "editor/getContext"
                               (list :uri unread :position '(:line 4 :character 14))
                               (list folder))))
     (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "ours-f"))
     (should (equal (plist-get (car (plist-get result :documentSymbols)) :name) "ours-f")))))

(ert-deftest guest-test-what-cannot-be-answered ()
  (guest-test-in-a-world
   (dolist (case `(((:uri ,uri :position (:line 99 :character 0)) "out-of-range")
                   ((:uri ,uri :position (:line 4) :symbol "nowhere") "symbol-not-found")
                   ((:uri ,(guest-uri (concat folder "no.el"))) "not-found")
                   ((:uri ,(guest-uri folder)) "not-a-file")
                   ((:uri "untitled:one") "unsupported-scheme")
                   ((:uri "file:///etc/passwd") "outside-workspace")
                   ((:uri ,(guest-write (concat folder ".env") "secret")) "excluded")))
     (should (equal (plist-get (car (plist-get (guest-check "editor/getContext" (car case)
                                                            (list folder))
                                               :unavailable))
                               :code)
                    (cadr case))))
   (should-not (guest-check "editor/getContext" '(:uri 5) (list folder)))))

(ert-deftest guest-test-diagnostics ()
  (guest-test-in-a-world
   (with-current-buffer (get-file-buffer file)
     (setq-local flymake-diagnostic-functions (list #'guest-test-flymake))
     (save-restriction
       (widen)
       (flymake-mode 1)
       (flymake-start)))
   (dolist (params (list (list :uri uri) (list :uri uri :position '(:line 1 :character 3)) nil))
     (should (equal (mapcar (lambda (found) (plist-get found :message))
                            (plist-get (guest-check "editor/getDiagnostics" params (list folder))
                                       :diagnostics))
                    '("bad" "so so"))))))

(ert-deftest guest-test-no-checker-is-not-clean ()
  (guest-test-in-a-world
   (should (equal (plist-get (car (plist-get (guest-check "editor/getDiagnostics" (list :uri uri)
                                                          (list folder))
                                             :diagnostics))
                             :message)
                  "not checked: no checker is active in this file"))))

(defun guest-test-rude (&rest _)
  "Do all that a provider should not do."
  (goto-char (point-min))
  (widen)
  (set-match-data '(7 8))
  (message "rude")
  (switch-to-buffer "*scratch*")
  (delete-other-windows)
  (read-string "Who are you? "))

(ert-deftest guest-test-a-rude-provider ()
  (guest-test-in-a-world
   (let* ((eca-context-symbol-functions '(guest-test-rude eca-context-symbol-at-point))
          (result (guest-check "editor/getContext"
                               (list :uri uri :position '(:line 4 :character 13)
                                     :include ["symbolAtPosition"])
                               (list folder))))
     (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "ours-f"))
     (should (equal (mapcar (lambda (entry) (list (plist-get entry :code)
                                                  (plist-get entry :reason)))
                            (plist-get result :unavailable))
                    '(("partial" "guest-test-rude: it wanted to ask the user")))))))

(ert-deftest guest-test-the-check-can-fail ()
  (guest-test-in-a-world
   (dolist (harm (list (lambda () (kill-new "x")) (lambda () (widen)) (lambda () (set-mark 1))
                       (lambda () (push 'x find-file-hook))
                       (lambda () (make-overlay 1 2)) (lambda () (run-at-time 60 nil #'ignore))
                       (lambda () (setq-local fill-column 7))
                       (lambda () (get-buffer-create "*stray*"))
                       (lambda () (advice-add 'forward-char :before #'ignore))
                       (lambda () (split-window))))
     (let ((before (with-current-buffer (get-file-buffer file) (guest-snapshot)))
           (find-file-hook find-file-hook)
           (kill-ring kill-ring))
       (with-current-buffer (get-file-buffer file)
         (funcall harm)
         (should (guest-difference before (guest-snapshot)))
         (advice-remove 'forward-char #'ignore)
         (cancel-function-timers #'ignore))))))

(provide 'guest-test)
;;; guest-test.el ends here
