;;; eca-context-module-test.el --- Tests of the module face  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Lisp values in, frames out: every string arrives, every id stays.

;;; Code:

(require 'ert)
(module-load (getenv "ECA_CONTEXT_MODULE_FILE"))

(declare-function eca-context-module-version "ext:eca-context-module" () t)
(declare-function eca-context-module-plan "ext:eca-context-module" (a b c) t)
(declare-function eca-context-module-answer "ext:eca-context-module" (a b c d e) t)

(defun eca-context-module-test-body (frame)
  "Check the header of FRAME and return its body, parsed."
  (should-not (multibyte-string-p frame))
  (should (string-match "\\`Content-Length: \\([0-9]+\\)\r\n\r\n" frame))
  (let ((body (substring frame (match-end 0))))
    (should (= (length body) (string-to-number (match-string 1 frame))))
    (json-parse-string (decode-coding-string body 'utf-8) :object-type 'alist)))

(defun eca-context-module-test-diagnostic (message &optional id)
  "Return the one message of an answer to ID whose facts hold MESSAGE."
  (let ((answer (eca-context-module-test-body
                 (eca-context-module-answer
                  (or id 1) "editor/getDiagnostics" '(:uri "file:///f") nil
                  `(:document (:path "/f")
                    :diagnostics ((:provider "p" :kind "unknown" :status "ok"
                                   :items ([nil "error" nil nil [0 0 0 1] ,message]
                                           "not an item"))))))))
    (alist-get 'message (aref (alist-get 'diagnostics (alist-get 'result answer)) 0))))

(ert-deftest eca-context-module-c11-every-string-arrives ()
  (dolist (case `(("caf\u00e9" . "caf\u00e9") (,(string-to-multibyte "a\xe9z") . "a\ufffdz")
                  ("a\xe9z" . "a\ufffdz")
                  (,(string ?a #xd83d ?z) . "a\ufffdz")
                  (,(string ?a #x110000 ?z) . "a\ufffdz")))
    (should (equal (eca-context-module-test-diagnostic (car case)) (cdr case)))))

(ert-deftest eca-context-module-c38-ids-stay ()
  (dolist (case `((0 . "0") ("x" . "\"x\"") (,(expt 2 60) . "1152921504606846976")
                  (,(expt 2 70) . "1180591620717411303424")))
    (should (string-match-p
             (regexp-quote (format "\"id\":%s," (cdr case)))
             (eca-context-module-answer (car case) "editor/getContext" '(:limit 0) nil nil)))))

(ert-deftest eca-context-module-plan-says-what-to-gather ()
  (let ((plan (eca-context-module-plan
               "editor/getContext"
               '(:uri "file:///f" :position (:line 3 :character 5.0) :include ["definitions" "x"])
               '(:disabled nil))))
    (should (equal (plist-get plan :features) '("definitions")))
    (should (equal (plist-get plan :line) 3))
    (should (equal (plist-get plan :character) 5)))
  (should (equal (plist-get (eca-context-module-plan "editor/getContext" '(:uri 1) nil) :error)
                 '(:code -32602 :message "uri: got 1, expected a string"))))

(ert-deftest eca-context-module-answers-c12-empty-is-empty ()
  (let ((frame (eca-context-module-answer
                1 "editor/getContext" '(:include ["documentSymbols"]) nil
                '(:document (:path "/f")
                  :documentSymbols ((:provider "imenu" :kind "textual" :status "ok" :items nil))))))
    (should (string-match-p "\"documentSymbols\":\\[\\]" frame))))

(ert-deftest eca-context-module-first-key-of-a-plist-counts ()
  (should (equal (plist-get (eca-context-module-plan
                             "editor/getContext" '(:limit 3 :limit 5 :limit "x") nil)
                            :limit)
                 3)))

(ert-deftest eca-context-module-errors-are-conditions ()
  (should-error (eca-context-module-plan 5 nil nil) :type 'eca-context-error))

(provide 'eca-context-module-test)
;;; eca-context-module-test.el ends here
