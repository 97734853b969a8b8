;;; eglot-features-test.el --- What real servers know, through eglot  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real eglot with clangd, pyright, typescript-language-server, and ruff; `facts-golden' says what
;; they know.

;;; Code:

(require 'cl-lib)
(require 'eglot-user)
(require 'facts)

(declare-function eglot-current-server "ext:eglot" t t)
(declare-function eglot--signal-textDocument/didChange "ext:eglot" t t)
(declare-function jsonrpc--process "ext:jsonrpc" t t)
(declare-function jsonrpc-async-request "ext:jsonrpc" t t)
(defvar eglot-server-programs)
(defvar eglot-sync-connect)

(defun eglot-features-start (feature &optional request seconds)
  "Ask for FEATURE at point, for REQUEST, within SECONDS (30).
Return a function without arguments: nil, or a list with what was answered."
  (let* ((said nil)
         (now (funcall (intern (format "eca-context-eglot-%s" feature))
                       (append request
                               (list :path buffer-file-name
                                     :deadline (+ (float-time) (or seconds 30))))
                       (lambda (outcomes) (push outcomes said)))))
    (if (eq now :async)
        (lambda ()
          (should (<= (length said) 1))
          said)
      (lambda () (list now)))))

(defun eglot-features-ask (feature &optional request seconds)
  "Return what is known of FEATURE at point, for REQUEST, within SECONDS (30)."
  (let ((said (eglot-features-start feature request seconds)))
    (eglot-test-until (+ 2 (or seconds 30)) (funcall said))
    (should (funcall said))
    (let ((outcomes (car (funcall said))))
      (if (keywordp (car-safe outcomes)) (list outcomes) outcomes))))

(defmacro eglot-features-in (row folder &rest body)
  "Evaluate BODY at the place of ROW of `facts-golden', with FOLDER bound."
  (declare (indent 2) (debug (form symbolp body)))
  `(eglot-test-in ,folder
     (with-current-buffer (find-file-noselect (facts-write ,row ,folder))
       (eglot-test-connect)
       (facts-go ,row)
       ,@body)))

(defun eglot-features-row (file)
  "Return the row of `facts-golden' about FILE."
  (assoc file facts-golden))

;;;; Right values

(ert-deftest eglot-features-golden ()
  (dolist (row facts-golden)
    (eglot-features-in row folder
      (facts-check row #'eglot-features-ask))))

(provide 'eglot-features-test)
;;; eglot-features-test.el ends here
