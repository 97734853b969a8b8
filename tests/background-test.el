;;; background-test.el --- Files that nobody visits, or that changed on disk  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What is said of them, what is started for them, and what is never evaluated.

;;; Code:

(require 'autorevert)
(require 'flymake)
(require 'guest)

(defvar flycheck-checkers)
(defvar flycheck-mode-hook)
(defvar trusted-content)
(defvar python-mode-hook)
(defvar python-indent-guess-indent-offset)
(defvar background-test-evil nil "Set by code that should not be evaluated.")

(defun background-test-diagnostics (uri &optional roots)
  "Return what is said of URI within ROOTS: freshness, messages, first code."
  (let ((result (guest-check "editor/getDiagnostics" (list :uri uri) roots)))
    (list (if (plist-member result :fresh) (plist-get result :fresh) 'unknown)
          (mapcar (lambda (found) (plist-get found :message)) (plist-get result :diagnostics))
          (plist-get (car (plist-get result :unavailable)) :code))))

(defun background-test-newer (file text)
  "Write TEXT into FILE so that it is newer than what any buffer has."
  (guest-write file text)
  (set-file-times file (time-add nil 5)))

(defun background-test-context (uri)
  "Return the symbol at the start of URI, its line's preview and the document."
  (let* ((result (guest-check "editor/getContext"
                              (list :uri uri :position '(:line 0 :character 1)
                                    :include ["symbolAtPosition"])))
         (symbol (plist-get result :symbolAtPosition))
         (document (plist-get result :document)))
    (list (plist-get symbol :text) (plist-get symbol :preview)
          (plist-get document :modified) (plist-get document :diskNewer))))

(ert-deftest background-test-c36-disk-newer-is-looked-at-not-refreshed ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (uri (guest-write file "old text\n"))
           (buffer (find-file-noselect file)))
      (background-test-newer file "new text\n")
      (should (equal (background-test-context uri) '("new" "new text" nil t)))
      (should (equal (with-current-buffer buffer (buffer-string)) "old text\n"))
      (should (equal (background-test-diagnostics uri)
                     '(unknown ("not checked: the file has changed on disk and the editor still has its older text")
                               "no-provider"))))))

(defun background-test-flymake-on (file problems)
  "Visit FILE and let flymake find PROBLEMS there.
Each is a list of the arguments of `flymake-make-diagnostic' after the first."
  (with-current-buffer (find-file-noselect file)
    (setq-local flymake-diagnostic-functions
                (list (lambda (report &rest _)
                        (funcall report (mapcar (lambda (problem)
                                                  (apply #'flymake-make-diagnostic
                                                         (current-buffer) problem))
                                                problems)))))
    (flymake-mode 1)
    (flymake-start)))

(ert-deftest background-test-c44-an-older-text-is-not-clean ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (other (expand-file-name "b.txt" folder))
           (ask (lambda ()
                  (let ((result (guest-check "editor/getDiagnostics" nil (list folder))))
                    (list (if (plist-member result :fresh) (plist-get result :fresh) 'unknown)
                          (mapcar (lambda (found) (plist-get found :message))
                                  (plist-get result :diagnostics))
                          (mapcar (lambda (entry) (plist-get entry :reason))
                                  (plist-get result :unavailable))))))
           (reason "a.txt has changed on disk and the editor still has its older text"))
      (guest-write file "old text\n")
      (guest-write other "old text\n")
      (background-test-flymake-on file nil)
      ;; That a file nobody checks has changed is no news.
      (find-file-noselect other)
      (background-test-newer other "new text\n")
      (should (equal (funcall ask) '(t nil nil)))
      (background-test-newer file "new text\n")
      (should (equal (funcall ask)
                     (list 'unknown (list (concat "not checked: " reason)) (list reason))))
      ;; What others found is told all the same, and is not all.
      (kill-buffer (get-file-buffer other))
      (background-test-flymake-on other '((1 2 :note "N")))
      (should (equal (funcall ask) (list nil '("N") (list reason)))))))

(ert-deftest background-test-disk-newer-is-refreshed-where-the-user-has-it-so ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (uri (guest-write file "old text\nmore\n"))
           (buffer (find-file-noselect file))
           (auto-revert-use-notify nil)
           (auto-revert-verbose nil))
      (with-current-buffer buffer
        (auto-revert-mode 1)
        (goto-char 4))
      (background-test-newer file "new text\nmore\n")
      (should (equal (background-test-context uri) '("new" "new text" nil nil)))
      (with-current-buffer buffer
        (should (equal (buffer-string) "new text\nmore\n"))
        ;; Unsaved text is never refreshed.
        (goto-char 1)
        (insert "mine ")
        (background-test-newer file "newest text\n"))
      (should (equal (background-test-context uri) '("mine" "mine new text" t t)))
      (should (equal (with-current-buffer buffer (buffer-string)) "mine new text\nmore\n"))
      (with-current-buffer buffer
        (auto-revert-mode -1)))))

;; The law of no prompt also where no provider is asked yet.
(defvar background-test-refused nil "The errors that questions ended in.")

(defun background-test-ask-user (&rest _)
  "Ask the user; note what came of it."
  (condition-case err
      (read-string "Really? ")
    (error (push (car err) background-test-refused)
           (signal (car err) (cdr err)))))

(ert-deftest background-test-no-question-where-a-file-is-read ()
  (guest-with-folder folder
    (let* ((uri (guest-write (expand-file-name "a.asks" folder) "some text\n"))
           (auto-mode-alist '(("\\.asks\\'" . background-test-ask-user)))
           (file (expand-file-name "b.txt" folder))
           (shown (guest-write file "old text\n"))
           (auto-revert-use-notify nil)
           (background-test-refused nil))
      ;; By the mode of a file that nobody visits.
      (should (equal (background-test-context uri) '("some" "some text" nil nil)))
      (should (equal (delete-dups background-test-refused) '(inhibited-interaction)))
      ;; By how the user's buffer is refreshed.
      (setq background-test-refused nil)
      (with-current-buffer (find-file-noselect file)
        (auto-revert-mode 1)
        (setq-local revert-buffer-function #'background-test-ask-user)
        (background-test-newer file "new text\n")
        (should (equal (background-test-context shown) '("new" "new text" nil t)))
        (should (equal (delete-dups background-test-refused) '(inhibited-interaction)))
        (auto-revert-mode -1)))))

(ert-deftest background-test-c44-nobody-checks-is-not-clean ()
  (guest-with-folder folder
    (let ((uri (guest-write (expand-file-name "a.py" folder) "def f(:\n")))
      (should (equal (background-test-diagnostics uri)
                     '(unknown ("not checked: the file is not open, and no checker for it is running")
                               "no-provider"))))))

(ert-deftest background-test-c44-the-users-own-checker-looks ()
  (guest-with-folder folder
    (should (require 'flycheck nil t))
    (require 'python)
    (let ((uri (guest-write (expand-file-name "a.py" folder) "x = 1\ndef f(:\n"))
          (python-mode-hook '(flycheck-mode))
          (python-indent-guess-indent-offset nil)
          (flycheck-checkers '(python-pycompile)))
      (should (equal (background-test-diagnostics uri)
                     '(t ("invalid syntax") nil)))
      (guest-write (expand-file-name "a.py" folder) "x = 1\n")
      (should (equal (background-test-diagnostics uri) '(t nil nil)))
      (should-not (get-file-buffer (expand-file-name "a.py" folder))))))

(defun background-test-flymake (report &rest _)
  "Give REPORT the buffer's size as a note."
  (funcall report (list (flymake-make-diagnostic (current-buffer) 1 2 :note
                                                 (format "%d characters" (buffer-size))))))

(ert-deftest background-test-only-checkers-that-may ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.el" folder))
           (uri (guest-write file ";;; a.el --- A  -*- lexical-binding: t; eval: (setq background-test-evil t) -*-\n(eval-when-compile (setq background-test-evil t))\n(defmacro f () (setq background-test-evil t))\n(f)\n"))
           (emacs-lisp-mode-hook '(flymake-mode))
           (enable-local-eval t)
           (enable-local-variables :all)
           (trusted-content nil))
      (setq background-test-evil nil)
      ;; The byte compiler would run the macro; checkdoc only reads.
      (let ((said (background-test-diagnostics uri)))
        (should (eq (car said) t))
        (should (cadr said))
        (should-not (seq-some (lambda (message) (string-match-p "not checked" message))
                              (cadr said))))
      (should-not background-test-evil)
      (let ((eca-context-background-checkers nil))
        (should (equal (nth 2 (background-test-diagnostics uri)) "no-provider")))
      (should-not background-test-evil))))

(ert-deftest background-test-what-a-mode-starts-goes ()
  "The mode for XML validates in idle timers."
  (guest-with-folder folder
    (let ((uri (guest-write (expand-file-name "a.xml" folder) "<a><b>c</b></a>\n")))
      (should (equal (cadr (background-test-context uri)) "<a><b>c</b></a>")))))

(provide 'background-test)
;;; background-test.el ends here
