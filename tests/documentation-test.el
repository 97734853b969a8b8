;;; documentation-test.el --- Tests of docstrings and eldoc  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What is written about the symbol at point, by a running Emacs and by eldoc's functions of every age.

;;; Code:

(require 'cl-lib)
(require 'guest)
(require 'eldoc)

;;;; Emacs Lisp

(defun documentation-test-f (one &optional two &rest three)
  "Do it, see `documentation-test-v' and \\[find-file].
Second line."
  (list one two three))
(defun documentation-test-bare (one) one)
(defmacro documentation-test-m (one &rest body) "Macro.\n\n(fn ONE BODY...)" (cons one body))
(defvar documentation-test-v 1 "A variable.")
(defalias 'documentation-test-alias #'documentation-test-f)
(defface documentation-test-face '((t)) "A face." :group 'eca-context)
(defvar documentation-test-evil nil "What is evaluated by one who should not.")
(defvar documentation-test-computed 1)
(put 'documentation-test-computed 'variable-documentation
     '(progn (setq documentation-test-evil t) "Computed"))
(autoload 'documentation-test-loaded "documentation-test-nowhere" "Loaded later.\n\n(fn X)")

(defun documentation-test-lisp (code)
  "Return the pieces for the symbol in CODE after its first parenthesis or quote."
  (with-temp-buffer
    (emacs-lisp-mode)
    (insert code)
    (goto-char (point-min))
    (re-search-forward "['(]\\(?:list \\)?")
    (let ((outcome (eca-context-elisp-documentation nil nil)))
      (should (equal (plist-get outcome :kind) "semantic"))
      (mapcar (lambda (item)
                (should (equal (aref item 1) "plaintext"))
                (should-not (text-properties-at 0 (aref item 2)))
                (cons (aref item 0) (aref item 2)))
              (plist-get outcome :items)))))

(ert-deftest documentation-test-emacs-lisp ()
  (let ((text (format "Do it, see %cdocumentation-test-v%c and C-x C-f.\nSecond line."
                      (if (char-displayable-p ?‘) ?‘ ?\') (if (char-displayable-p ?’) ?’ ?\'))))
    (dolist (case `(("(documentation-test-f)"
                     ("signature" . "(documentation-test-f ONE &optional TWO &rest THREE)")
                     ("docstring" . ,text))
                    ("(documentation-test-alias)"
                     ("signature" . "(documentation-test-alias ONE &optional TWO &rest THREE)")
                     ("docstring" . ,text))
                    ("(documentation-test-bare)" ("signature" . "(documentation-test-bare ONE)"))
                    ("(documentation-test-m)"
                     ("signature" . "(documentation-test-m ONE BODY...)") ("docstring" . "Macro."))
                    ("(list documentation-test-v)" ("docstring" . "A variable."))
                    ("'documentation-test-face" ("docstring" . "A face."))
                    ("(documentation-test-loaded)"
                     ("signature" . "(documentation-test-loaded X)") ("docstring" . "Loaded later."))
                    ("(list documentation-test-computed)")
                    ("(documentation-test-nothing)") ("( )")))
      (should (equal case (cons (car case) (documentation-test-lisp (car case)))))))
  (should-not documentation-test-evil)
  (should (autoloadp (symbol-function 'documentation-test-loaded)))
  ;; Advice hides nothing, and says nothing of its own.
  (unwind-protect
      (progn
        (advice-add 'documentation-test-bare :around #'apply '((name . documentation-test)))
        (should (equal (documentation-test-lisp "(documentation-test-bare)")
                       '(("signature" . "(documentation-test-bare ONE)")))))
    (advice-remove 'documentation-test-bare 'documentation-test))
  (with-temp-buffer
    (should-not (eca-context-elisp-documentation nil nil))))

;;;; eldoc

(defun documentation-test-ask (functions &optional strategy seconds)
  "Return what eldoc's FUNCTIONS say under STRATEGY within SECONDS, by outcomes.
An outcome is a list of status, reason and texts."
  (with-temp-buffer
    (insert "one two")
    (setq-local eldoc-documentation-functions functions)
    (when strategy
      (setq-local eldoc-documentation-strategy strategy))
    (let* ((said 'nothing)
           (n-said 0)
           (timers (length timer-list))
           (inhibit-interaction t)
           (deadline (+ (float-time) (or seconds 5)))
           (now (eca-context-eldoc-documentation
                 (list :deadline deadline)
                 (lambda (outcomes) (setq said outcomes n-said (1+ n-said))))))
      (when (eq now :async)
        (while (and (eq said 'nothing) (< (float-time) (+ deadline 5)))
          (accept-process-output nil 0.005))
        (accept-process-output nil 0.05)
        (should (= n-said 1))
        (setq now said))
      (should (<= (length timer-list) timers))
      (mapcar (lambda (outcome)
                (list (plist-get outcome :status) (plist-get outcome :reason)
                      (mapcar (lambda (item)
                                (should-not (text-properties-at 0 (aref item 2)))
                                (aref item 2))
                              (plist-get outcome :items))))
              now))))

(defun documentation-test-string (&rest _) "Return a text." (propertize "string" 'face 'bold))
(defun documentation-test-now (callback &rest _)
  "Call CALLBACK at once, and again."
  (funcall callback (propertize "now" 'face 'bold) :thing "x")
  (funcall callback "twice")
  t)
(defun documentation-test-later (callback &rest _)
  "Call CALLBACK later."
  (run-at-time 0.05 nil callback "later" :face 'bold)
  'pending)
(defun documentation-test-never (&rest _) "Promise, and forget." t)
(defun documentation-test-nil-later (callback &rest _)
  "Call CALLBACK later with nothing."
  (run-at-time 0.02 nil callback nil)
  t)
(defun documentation-test-errs (&rest _) "Signal." (error "Broken"))
(defun documentation-test-asks (&rest _) "Ask." (read-string "What? "))
(defun documentation-test-moves (callback &rest _)
  "Move, talk, and tell CALLBACK."
  (goto-char (point-min))
  (funcall (intern "eldoc-message") "documentation-test talks")
  (funcall callback "moved"))

(ert-deftest documentation-test-eldoc ()
  (dolist (case '(((documentation-test-string ignore documentation-test-now)
                   ("ok" nil ("string" "now")))
                  ((documentation-test-later documentation-test-now documentation-test-nil-later)
                   ("ok" nil ("later" "now")))
                  ((documentation-test-nil-later) ("ok" nil nil))
                  ((documentation-test-errs documentation-test-string documentation-test-asks)
                   ("ok" nil ("string")) ("error" "Broken" nil)
                   ("would-prompt" "it wanted to ask the user" nil))
                  ((documentation-test-errs) ("error" "Broken" nil))
                  ((eglot-hover-eldoc-function flymake-eldoc-function python-eldoc-function))
                  (nil)))
    (should (equal case (cons (car case) (documentation-test-ask (car case)))))))

(ert-deftest documentation-test-eldoc-that-forgets ()
  (let ((start (float-time)))
    (should (equal (documentation-test-ask '(documentation-test-never documentation-test-later))
                   '(("ok" nil ("later")) ("timeout" "it did not answer in time" nil))))
    (should (< (- (float-time) start) 3))
    (setq start (float-time))
    (should (equal (documentation-test-ask '(documentation-test-never) nil 0.1)
                   '(("timeout" "it did not answer in time" nil))))
    (should (< (- (float-time) start) 1))))

(ert-deftest documentation-test-eldoc-of-old ()
  (should (equal (documentation-test-ask nil #'documentation-test-string)
                 '(("ok" nil ("string")))))
  (should (equal (documentation-test-ask nil #'ignore) nil))
  (let ((around (lambda (&rest functions)
                  (with-temp-buffer
                    (dolist (function functions)
                      (add-function :before-until (local 'eldoc-documentation-function) function))
                    (documentation-test-ask '(documentation-test-now)
                                            eldoc-documentation-strategy)))))
    (should (equal (funcall around #'documentation-test-string) '(("ok" nil ("string")))))
    (should (equal (funcall around (lambda (&rest _) nil)) '(("ok" nil ("now")))))))

(ert-deftest documentation-test-eldoc-displays-nothing ()
  (let ((shown (current-message)))
    (with-temp-buffer
      (insert "one two")
      (setq-local eldoc-documentation-functions '(documentation-test-moves))
      (goto-char 4)
      (eca-context-eldoc-documentation (list :deadline (+ (float-time) 5)) #'ignore)
      (should (= (point) 4)))
    (should (equal shown (current-message)))
    (with-current-buffer (messages-buffer)
      (should-not (string-match-p "documentation-test talks" (buffer-string))))))

(ert-deftest documentation-test-eldoc-global-functions ()
  (let ((own (default-value 'eldoc-documentation-functions)))
    (unwind-protect
        (progn
          (setq-default eldoc-documentation-functions '(documentation-test-string))
          (should (equal (documentation-test-ask '(documentation-test-now t documentation-test-now))
                         '(("ok" nil ("now" "string"))))))
      (setq-default eldoc-documentation-functions own))))

;;;; What the manual shows

(defconst documentation-test-manual
  (expand-file-name "../docs/manual.org" (file-name-directory (or load-file-name buffer-file-name)))
  "The manual.")

(ert-deftest documentation-test-the-provider-of-the-manual ()
  (guest-with-folder folder
    (let ((eca-context-documentation-functions eca-context-documentation-functions)
          (exec-path (cons folder exec-path))
          (file (expand-file-name "a.sh" folder)))
      (guest-write (expand-file-name "whatis" folder)
                   "#!/bin/sh\necho \"$1 (1) - what $1 does\"\n")
      (set-file-modes (expand-file-name "whatis" folder) #o755)
      (with-temp-buffer
        (insert-file-contents documentation-test-manual)
        (search-forward "(defun my-whatis")
        (narrow-to-region (match-beginning 0) (progn (search-forward "#+end_src") (match-beginning 0)))
        (eval-buffer))
      (guest-write file "ls -l\n")
      (with-current-buffer (find-file-noselect file)
        (let ((result (guest-check "editor/getContext"
                                   (list :uri (guest-uri file) :include ["documentation"]
                                         :position '(:line 0 :character 1))
                                   (list folder))))
          (should (equal (plist-get result :documentation)
                         '((:role "docstring" :kind "plaintext" :value "ls (1) - what ls does"))))
          (should (equal (plist-get (plist-get (plist-get result :provenance) :documentation)
                                    :providers)
                         '("whatis"))))))))

(provide 'documentation-test)
;;; documentation-test.el ends here
