;;; flymake-test.el --- Tests of flymake and flycheck as sources  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real flymake with a backend that says what the test wants; flycheck's errors are the real ones
;; where it is installed.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'flymake)
(require 'eca-context)
(require 'eca-context-flymake)
(require 'eca-context-flycheck)

(declare-function flycheck-error-new-at "ext:flycheck" (line column &rest keys) t)
(declare-function flycheck-add-overlay "ext:flycheck" (err) t)
(defvar flycheck-mode)
(defvar flycheck-current-errors)
(defvar flycheck-last-status-change)

(defvar flymake-test-problems nil
  "What the backend reports: (BEG END TYPE TEXT) each, or `pending'.")

(defun flymake-test-flymake (report &rest _)
  "Call REPORT with `flymake-test-problems'."
  (unless (eq flymake-test-problems 'pending)
    (funcall report (mapcar (lambda (problem)
                              (apply #'flymake-make-diagnostic (current-buffer) problem))
                            flymake-test-problems))))

(defmacro flymake-test-in (text problems &rest body)
  "Run BODY in a buffer with TEXT of which flymake holds PROBLEMS."
  (declare (indent 2) (debug (form form body)))
  `(with-temp-buffer
     (insert ,text)
     (setq-local flymake-diagnostic-functions '(flymake-test-flymake)
                 flymake-no-changes-timeout nil)
     (let ((flymake-test-problems ,problems))
       (flymake-mode 1)
       (flymake-start)
       ,@body)))

(defun flymake-test-outcome (&rest keys)
  "Return the outcome for the current buffer; KEYS go into the request."
  (eca-context-flymake-diagnostics (append (list :path "/f") keys) #'ignore))

(defun flymake-test-items (&rest keys)
  "Return severity, source, range and message of each item; KEYS as in a request."
  (mapcar (lambda (item) (list (aref item 1) (aref item 2) (append (aref item 4) nil)
                               (aref item 5)))
          (plist-get (apply #'flymake-test-outcome keys) :items)))

(ert-deftest flymake-test-off-is-not-mine ()
  (with-temp-buffer
    (insert "a")
    (should-not (flymake-test-outcome))
    (should-not (eca-context-flycheck-diagnostics '(:path "/f") #'ignore))))

(ert-deftest flymake-test-c01-utf-16 ()
  (flymake-test-in "\n\tx = \"😀\"; bad()\n" '((12 15 :error "E"))
    (should (equal (flymake-test-items) '(("error" "flymake-test-flymake" (1 11 1 14) "E"))))))

(ert-deftest flymake-test-c05-narrowed ()
  (flymake-test-in "a = 1\nb = 2\nc = undefined_name\n" '((17 31 :warning "W"))
    (narrow-to-region 13 32)
    (goto-char 15)
    (should (equal (mapcar #'caddr (flymake-test-items)) '((2 4 2 18))))
    (should (equal (list (point) (point-min) (point-max)) '(15 13 32)))
    (narrow-to-region 1 3)
    (should (equal (mapcar #'caddr (flymake-test-items)) '((2 4 2 18))))))

(ert-deftest flymake-test-c08-c09-without-extent ()
  (flymake-test-in "int f() {\n  return 1\n}\n" '((21 21 :error "expected ;"))
    (should (equal (mapcar #'caddr (flymake-test-items)) '((1 10 1 10)))))
  (flymake-test-in "f {\n\n" '((6 6 :error "end"))
    (should (equal (mapcar #'caddr (flymake-test-items)) '((2 0 2 0))))))

(ert-deftest flymake-test-beyond-the-text ()
  (flymake-test-in "ab\ncd" '((6 6 :error "at") (6 9 :error "past") (40 50 :error "far")
                              (5 99 :error "over"))
    (should (eq (plist-get (flymake-test-outcome) :fresh) t))
    (should (equal (sort (mapcar (lambda (item) (list (nth 3 item) (nth 2 item)))
                                 (flymake-test-items))
                         (lambda (a b) (string< (car a) (car b))))
                   '(("at" (1 2 1 2)) ("far" (1 2 1 2)) ("over" (1 1 1 2)) ("past" (1 2 1 2)))))
    ;; What was deleted is gone.
    (delete-region 4 6)
    (should-not (member "over" (mapcar #'cadddr (flymake-test-items))))))

(ert-deftest flymake-test-c32-moves-and-freshness ()
  (flymake-test-in "one\nbad\n" '((5 8 :error "E"))
    (should (eq (plist-get (flymake-test-outcome) :fresh) t))
    (goto-char (point-min))
    (insert "new\n")
    (should (equal (mapcar #'caddr (flymake-test-items)) '((2 0 2 3))))
    (should (eq (plist-get (flymake-test-outcome) :fresh) :json-false))
    (setq flymake-test-problems 'pending)
    (flymake-start)
    (should (eq (plist-get (flymake-test-outcome) :fresh) :json-false))
    (should (equal (mapcar #'caddr (flymake-test-items)) '((2 0 2 3))))
    (setq flymake-test-problems '((9 12 :error "E")))
    (flymake-start)
    (should (eq (plist-get (flymake-test-outcome) :fresh) t))
    (should (equal (mapcar #'caddr (flymake-test-items)) '((2 0 2 3))))))

(ert-deftest flymake-test-nothing-found-and-nothing-looked ()
  (flymake-test-in "ok\n" nil
    (should (equal (flymake-test-outcome)
                   '(:provider "flymake" :kind "unknown" :status "ok" :fresh t :exact t :items nil))))
  (with-temp-buffer
    (setq-local flymake-diagnostic-functions nil)
    (flymake-mode 1)
    (let ((outcome (flymake-test-outcome)))
      (should-not (equal (plist-get outcome :status) "ok")))))

(ert-deftest flymake-test-a-broken-checker-is-said ()
  (with-temp-buffer
    (setq-local flymake-diagnostic-functions (list (lambda (&rest _) (error "Broken"))))
    (let ((inhibit-message t)
          (warning-minimum-log-level :emergency))
      (flymake-mode 1)
      (flymake-start))
    (should (equal (plist-get (flymake-test-outcome) :status) "error"))))

(defun flymake-test-lasting (report &rest _)
  "Call REPORT with a note on the first character."
  (funcall report (list (flymake-make-diagnostic (current-buffer) 1 2 :note "N"))))

(ert-deftest flymake-test-a-checker-that-left ()
  "Flymake still counts it as running; what it said is about another text."
  (flymake-test-in "one\n" '((1 2 :error "E"))
    (add-hook 'flymake-diagnostic-functions #'flymake-test-lasting nil t)
    (flymake-start)
    (should (equal (sort (mapcar #'car (flymake-test-items)) #'string<) '("error" "info")))
    (remove-hook 'flymake-diagnostic-functions #'flymake-test-flymake t)
    (goto-char (point-max))
    (insert "two\n")
    (setq flymake-test-problems 'pending)
    (flymake-start)
    (should (memq #'flymake-test-flymake (flymake-running-backends)))
    (should (eq (plist-get (flymake-test-outcome) :fresh) t))
    (should (equal (mapcar #'car (flymake-test-items)) '("info")))
    (remove-hook 'flymake-diagnostic-functions #'flymake-test-lasting t)
    (should (equal (plist-get (flymake-test-outcome) :status) "no-provider"))))

(put 'flymake-test-hint 'flymake-category 'flymake-note)
(put 'flymake-test-odd 'flymake-category 'flymake-warning)
(put 'flymake-test-number 'severity (warning-numeric-level :debug))

(ert-deftest flymake-test-severity-by-category ()
  (pcase-dolist (`(,type . ,word)
                 '((:error . "error") (:warning . "warning") (:note . "info")
                   (flymake-test-hint . "info") (flymake-test-odd . "warning")
                   (flymake-test-number . "info") (flymake-test-none . "error")))
    (should (equal (eca-context-flymake--severity type) word))))

(ert-deftest flymake-test-listed-only ()
  (let ((flymake-list-only-diagnostics
         (list (cons "/nowhere/f" (list (flymake-make-diagnostic "/nowhere/f" '(2 . 3) '(2 . 5)
                                                                 :note "N"))))))
    (with-temp-buffer
      (insert "a\n\tbcde\n")
      (let ((outcome (eca-context-flymake-diagnostics '(:path "/nowhere/f") #'ignore)))
        (should (eq (plist-get outcome :fresh) :json-false))
        (should (equal (plist-get outcome :items)
                       (list (vector "/nowhere/f" "info" nil nil [1 2 1 4] "N"))))))
    (should (equal (mapcar (lambda (item) (aref item 4))
                           (eca-context-flymake-listed-items '("/nowhere")))
                   '([1 2 1 4])))
    (should-not (eca-context-flymake-listed-items '("/now")))))

(ert-deftest flymake-test-other-files-only-when-asked ()
  (flymake-test-in "a\n" 'pending
    (funcall (flymake-make-report-fn 'flymake-test-flymake
                                     (flymake--state-running
                                      (gethash 'flymake-test-flymake flymake--state)))
             (list (flymake-make-diagnostic "/nowhere/g" '(3 . 1) '(3 . 2) :error "G")))
    (should-not (flymake-test-items))
    (should (equal (flymake-test-items :everywhere t)
                   '(("error" "flymake-test-flymake" (2 0 2 1) "G"))))))

;;;; flycheck

(defmacro flymake-test-flycheck (text errors &rest body)
  "Run BODY in a buffer with TEXT of which flycheck holds ERRORS."
  (declare (indent 2) (debug (form form body)))
  `(progn
     (should (require 'flycheck nil t))
     (with-temp-buffer
       (insert ,text)
       (setq-local flycheck-mode t
                   flycheck-current-errors ,errors
                   flycheck-last-status-change 'finished)
       (mapc #'flycheck-add-overlay flycheck-current-errors)
       ,@body)))

(defun flymake-test-flycheck-items (&rest keys)
  "Return flycheck's items for the current buffer; KEYS go into the request."
  (plist-get (eca-context-flycheck-diagnostics (append (list :path "/f") keys) #'ignore) :items))

(ert-deftest flymake-test-flycheck-places ()
  (flymake-test-flycheck
      "\tx = \"😀\"; bad()\n  two\n"
      (list (flycheck-error-new-at 1 11 'error "full" :end-line 1 :end-column 14 :id "E1"
                                   :checker 'python-pylint :filename nil)
            (flycheck-error-new-at 1 11 'warning "point" :filename "/f")
            (flycheck-error-new-at 2 nil 'info "line" :filename "/f")
            (flycheck-error-new-at 99 5 'error "beyond" :filename "/f")
            (flycheck-error-new-at 3 2 'error "other" :filename "/nowhere/g"))
    (should (equal (flymake-test-flycheck-items)
                   (list (vector "/f" "error" "python-pylint" "E1" [0 11 0 14] "full")
                         (vector "/f" "warning" nil nil [0 11 0 14] "point")
                         (vector "/f" "info" nil nil [1 2 1 5] "line")
                         (vector "/f" "error" nil nil [2 0 2 0] "beyond"))))
    (should (equal (car (last (flymake-test-flycheck-items :everywhere t)))
                   (vector "/nowhere/g" "error" nil nil [2 1 2 1] "other")))
    (goto-char (point-min))
    (insert "new\n")
    (should (equal (aref (car (flymake-test-flycheck-items)) 4) [1 11 1 14]))))

(ert-deftest flymake-test-flycheck-says-why-not ()
  (flymake-test-flycheck "a\n" nil
    (pcase-dolist (`(,state ,status ,fresh) '((no-checker "no-provider" nil)
                                              (errored "error" nil)
                                              (running "ok" :json-false)
                                              (not-checked "ok" :json-false)))
      (setq flycheck-last-status-change state)
      (let ((outcome (eca-context-flycheck-diagnostics '(:path "/f") #'ignore)))
        (should (equal (plist-get outcome :status) status))
        (should (eq (plist-get outcome :fresh) fresh))))))

(provide 'flymake-test)
;;; flymake-test.el ends here
