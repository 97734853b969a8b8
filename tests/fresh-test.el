;;; fresh-test.el --- Diagnostics of the present text, or said to be older  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; flymake and flycheck, with checkers that are slow, silent or broken, and with the real byte compiler.

;;; Code:

(require 'flymake)
(require 'guest)

(declare-function flycheck-mode "ext:flycheck" (&optional arg) t)
(declare-function flycheck-buffer "ext:flycheck" () t)
(defvar trusted-content)

(defvar fresh-test-delay 0.3 "How long the checker takes, in seconds; nil: for ever.")
(defvar fresh-test-n-checks 0 "How often the checker was started.")

(defun fresh-test-checker (report &rest _)
  "Give REPORT a problem for each BAD in the buffer as it is now, after a while."
  (setq fresh-test-n-checks (1+ fresh-test-n-checks))
  (let ((buffer (current-buffer))
        found)
    (save-excursion
      (save-restriction
        (widen)
        (goto-char (point-min))
        (while (search-forward "BAD" nil t)
          (push (cons (match-beginning 0) (match-end 0)) found))))
    (let ((say (lambda ()
                 (when (buffer-live-p buffer)
                   (with-current-buffer buffer
                     (funcall report
                              (mapcar (lambda (place)
                                        (flymake-make-diagnostic buffer (car place) (cdr place)
                                                                 :warning "bad word"))
                                      (nreverse found))))))))
      (cond ((null fresh-test-delay))
            ((zerop fresh-test-delay) (funcall say))
            (t (run-at-time fresh-test-delay nil say))))))

(defmacro fresh-test-with (text &rest body)
  "Evaluate BODY in a buffer visiting a file with TEXT that flymake checks.
`folder', `file' and `uri' are bound."
  (declare (indent 1) (debug (form body)))
  `(guest-with-folder folder
     (let* ((file (expand-file-name "a.txt" folder))
            (uri (guest-write file ,text))
            (fresh-test-delay 0.3))
       (setq fresh-test-n-checks 0)
       (with-current-buffer (find-file-noselect file)
         (setq-local flymake-diagnostic-functions '(fresh-test-checker))
         ,@body))))

(defun fresh-test-ask (uri &optional seconds &rest params)
  "Ask for the diagnostics of URI with PARAMS; at most SECONDS.
Return what is said of freshness (`unknown' if nothing), and each message with
the line and character of its start."
  (let ((result (plist-get (guest-ask "editor/getDiagnostics" (append (list :uri uri) params) nil
                                      seconds)
                           :result)))
    (cons (if (plist-member result :fresh) (plist-get result :fresh) 'unknown)
          (mapcar (lambda (found)
                    (let ((start (plist-get (plist-get found :range) :start)))
                      (list (plist-get found :message)
                            (plist-get start :line) (plist-get start :character))))
                  (plist-get result :diagnostics)))))

(ert-deftest fresh-test-c32-waits-for-the-present-text ()
  (fresh-test-with "one\n\tBAD two\n"
    ;; Never shown, so flymake has not even begun.
    (flymake-mode 1)
    (should (equal (fresh-test-ask uri) '(t ("bad word" 1 1))))
    (should (= fresh-test-n-checks 1))
    ;; At once, for nothing has changed.
    (let ((start (float-time)))
      (should (equal (fresh-test-ask uri) '(t ("bad word" 1 1))))
      (should (< (- (float-time) start) 1))
      (should (= fresh-test-n-checks 1)))
    (goto-char (point-max))
    (insert "more BAD\n")
    (should (equal (fresh-test-ask uri) '(t ("bad word" 1 1) ("bad word" 2 5))))
    (should (= fresh-test-n-checks 2))
    ;; One problem less is no less true.
    (erase-buffer)
    (should (equal (fresh-test-ask uri) '(t)))))

(ert-deftest fresh-test-c32-not-in-time-is-said-and-moves ()
  (fresh-test-with "one\n\tBAD two\n"
    (flymake-mode 1)
    (should (equal (fresh-test-ask uri) '(t ("bad word" 1 1))))
    (setq fresh-test-delay nil)
    (goto-char (point-min))
    (insert "above\n")
    (should (equal (fresh-test-ask uri 1) '(nil ("bad word" 2 1))))
    ;; A check that is under way is not begun again.
    (should (= fresh-test-n-checks 2))
    (should (equal (fresh-test-ask uri 0.5) '(nil ("bad word" 2 1))))
    (should (= fresh-test-n-checks 2))))

(ert-deftest fresh-test-c32-never-a-bare-list ()
  (fresh-test-with "one\n"
    (setq fresh-test-delay nil)
    (flymake-mode 1)
    (should (equal (fresh-test-ask uri 0.5)
                   '(nil ("not checked: the checkers have not spoken about the present text" 0 0))))
    (should (equal (fresh-test-ask uri 0.5 :position '(:line 0 :character 0)) '(nil)))))

(ert-deftest fresh-test-an-edit-while-it-is-checked ()
  (fresh-test-with "one BAD\n"
    (flymake-mode 1)
    (run-at-time 0.15 nil (lambda ()
                            (with-current-buffer (get-file-buffer file)
                              (goto-char (point-min))
                              (insert "BAD\n"))))
    (should (equal (fresh-test-ask uri) '(t ("bad word" 0 0) ("bad word" 1 4))))))

(ert-deftest fresh-test-who-checks-on-save-is-not-checked-now ()
  (fresh-test-with "one BAD\n"
    (let ((flymake-no-changes-timeout nil))
      (flymake-mode 1)
      (should (equal (fresh-test-ask uri) '(t ("bad word" 0 4))))
      (goto-char (point-min))
      (insert "new\n")
      (should (equal (fresh-test-ask uri) '(nil ("bad word" 1 4))))
      (should (= fresh-test-n-checks 1)))))

(ert-deftest fresh-test-a-broken-checker-is-not-clean ()
  (fresh-test-with "one BAD\n"
    (setq-local flymake-diagnostic-functions (list (lambda (&rest _) (error "Broken"))))
    (let ((inhibit-message t))
      (flymake-mode 1)
      (should (string-match-p "\\`not checked: flymake: flymake gave up"
                              (car (cadr (fresh-test-ask uri 2))))))))

(ert-deftest fresh-test-typing-stays-alive ()
  "While a checker takes its time, timers of 10 ms run on time."
  (fresh-test-with "one BAD\n"
    (setq fresh-test-delay 5)
    (flymake-mode 1)
    (let* (gaps
           (last (float-time))
           (timer (run-at-time 0 0.01 (lambda ()
                                        (push (- (float-time) last) gaps)
                                        (setq last (float-time))))))
      (unwind-protect
          (should (equal (fresh-test-ask uri) '(t ("bad word" 0 4))))
        (cancel-timer timer))
      (should (> (length gaps) 50))
      (should (< (nth (/ (length gaps) 2) (sort gaps #'<)) 0.015)))))

(ert-deftest fresh-test-the-real-byte-compiler ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.el" folder))
           (uri (guest-write file ";;; a.el  -*- lexical-binding: t -*-\n(defun fresh-test-f ()\n\t(list \"😀\" fresh-test-free))\n"))
           (trusted-content :all))
      (with-current-buffer (find-file-noselect file)
        (setq-local flymake-diagnostic-functions '(elisp-flymake-byte-compile))
        (flymake-mode 1)
        (should (equal (fresh-test-ask uri 20)
                       '(t ("reference to free variable ‘fresh-test-free’" 2 12))))
        (goto-char (point-min))
        (forward-line)
        (insert ";; 變數\n")
        (should (equal (fresh-test-ask uri 20)
                       '(t ("reference to free variable ‘fresh-test-free’" 3 12))))
        ;; Nothing has changed since: at once.
        (let ((start (float-time)))
          (fresh-test-ask uri)
          (should (< (- (float-time) start) 1)))))))

;;;; flycheck

(declare-function flycheck-define-generic-checker "ext:flycheck" (symbol doc &rest args) t)
(declare-function flycheck-error-new-at-pos "ext:flycheck" (pos level message &rest args) t)
(defvar flycheck-checkers)
(defvar flycheck-checker)

(defun fresh-test-flycheck-start (checker callback)
  "Give CALLBACK an error of CHECKER for each BAD in the buffer, after a while."
  (setq fresh-test-n-checks (1+ fresh-test-n-checks))
  (let (found)
    (save-excursion
      (goto-char (point-min))
      (while (search-forward "BAD" nil t)
        (push (flycheck-error-new-at-pos (match-beginning 0) 'warning "bad word"
                                         :end-pos (match-end 0) :checker checker)
              found)))
    (when fresh-test-delay
      (run-at-time fresh-test-delay nil
                   (lambda () (funcall callback 'finished (nreverse found)))))
    nil))

(defmacro fresh-test-with-flycheck (text &rest body)
  "Evaluate BODY in a buffer visiting a file with TEXT that flycheck checks."
  (declare (indent 1) (debug (form body)))
  `(progn
     (should (require 'flycheck nil t))
     (flycheck-define-generic-checker 'fresh-test "A checker that takes its time."
       :start #'fresh-test-flycheck-start :modes 'text-mode)
     (eca-context-flycheck-watch)
     (unwind-protect
         (fresh-test-with ,text
           (text-mode)
           (setq-local flycheck-checkers '(fresh-test))
           (flycheck-mode 1)
           ,@body)
       (eca-context-flycheck-unwatch))))

(ert-deftest fresh-test-c32-flycheck-waits ()
  (fresh-test-with-flycheck "one\n\t😀 BAD two\n"
    (should (equal (fresh-test-ask uri) '(t ("bad word" 1 4))))
    (let ((start (float-time)) (n-checks fresh-test-n-checks))
      (should (equal (fresh-test-ask uri) '(t ("bad word" 1 4))))
      (should (< (- (float-time) start) 1))
      (should (= fresh-test-n-checks n-checks)))
    (goto-char (point-min))
    (insert "a BAD\n")
    (should (equal (fresh-test-ask uri) '(t ("bad word" 0 2) ("bad word" 2 4))))
    (setq fresh-test-delay nil)
    (goto-char (point-min))
    (insert "above\n")
    (should (equal (fresh-test-ask uri 0.5) '(nil ("bad word" 1 2) ("bad word" 3 4))))))

(ert-deftest fresh-test-flycheck-on-save-is-not-checked-now ()
  (defvar flycheck-check-syntax-automatically)
  (let ((flycheck-check-syntax-automatically '(save)))
    (fresh-test-with-flycheck "one BAD\n"
      (flycheck-buffer)
      (should (equal (fresh-test-ask uri) '(t ("bad word" 0 4))))
      (goto-char (point-min))
      (insert "new\n")
      (should (equal (fresh-test-ask uri) '(nil ("bad word" 1 4))))
      (should (= fresh-test-n-checks 1)))))

(ert-deftest fresh-test-the-real-pycompile ()
  (should (require 'flycheck nil t))
  (eca-context-flycheck-watch)
  (unwind-protect
      (guest-with-folder folder
        (let* ((file (expand-file-name "a.py" folder))
               (uri (guest-write file "x = \"😀\"\ndef f(:\n")))
          (with-current-buffer (find-file-noselect file)
            (setq-local flycheck-checkers '(python-pycompile))
            (flycheck-mode 1)
            (should (equal (cdr (fresh-test-ask uri 20)) '(("invalid syntax" 1 0))))
            (erase-buffer)
            (insert "x = 1\n")
            (should (equal (fresh-test-ask uri 20) '(t))))))
    (eca-context-flycheck-unwatch)))

;;;; The table: what real checkers say of tabs, emoji, CJK and CRLF, by hand

(defun fresh-test-table (file text checker)
  "Return what flycheck's CHECKER says of FILE with TEXT, as severity and range."
  (should (require 'flycheck nil t))
  (eca-context-flycheck-watch)
  (unwind-protect
      (guest-with-folder folder
        (let* ((path (expand-file-name file folder))
               (uri (guest-write path text)))
          (with-current-buffer (let ((inhibit-message t)) (find-file-noselect path))
            (setq-local flycheck-checkers (list checker))
            (flycheck-mode 1)
            (let ((result (plist-get (guest-ask "editor/getDiagnostics" (list :uri uri) nil 20)
                                     :result)))
              (should (eq (plist-get result :fresh) t))
              (mapcar (lambda (found)
                        (let* ((range (plist-get found :range))
                               (start (plist-get range :start))
                               (end (plist-get range :end)))
                          (list (plist-get found :severity)
                                (list (plist-get start :line) (plist-get start :character)
                                      (plist-get end :line) (plist-get end :character))
                                (plist-get found :message))))
                      (plist-get result :diagnostics))))))
    (eca-context-flycheck-unwatch)))

(ert-deftest fresh-test-table-gcc ()
  "GCC counts bytes where it reads from a pipe, as it does for flycheck."
  (dolist (ending '("\n" "\r\n"))
    (should (equal (fresh-test-table
                    "a.c"
                    (string-join '("int f(void) {" "\tconst char *x = \"😀變數\"; return bad1 + 1;"
                                   "}" "" "int g(void) {" "\treturn 1" "}" "")
                                 ending)
                    'c/c++-gcc)
                   '(("warning" (1 13 1 14) "unused variable ‘x’")
                     ("error" (1 32 1 36) "‘bad1’ undeclared (first use in this function)")
                     ("info" (1 32 1 36)
                      "each undeclared identifier is reported only once for each function it appears in")
                     ("warning" (2 0 2 1) "control reaches end of non-void function")
                     ("error" (5 9 5 9) "expected ‘;’ before ‘}’ token"))))))

(ert-deftest fresh-test-table-the-byte-compiler ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.el" folder))
           (uri (guest-write file ";;; a.el  -*- lexical-binding: t -*-\r\n(defun fresh-test-g ()\r\n\t(list \"😀變數\" fresh-test-loose))\r\n\r\n(fresh-test-unknown)\r\n"))
           (trusted-content :all))
      (with-current-buffer (find-file-noselect file)
        (setq-local flymake-diagnostic-functions '(elisp-flymake-byte-compile))
        (flymake-mode 1)
        (should (equal (fresh-test-ask uri 20)
                       '(t ("reference to free variable ‘fresh-test-loose’" 2 14)
                           ("the function ‘fresh-test-unknown’ is not known to be defined." 4 1))))))))

(provide 'fresh-test)
;;; fresh-test.el ends here
