;;; eca-context-module-test.el --- Tests of the module face  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Lisp values in, frames out: every string arrives, every id stays.

;;; Code:

(require 'ert)
(require 'nadvice)
(module-load (getenv "ECA_CONTEXT_MODULE_FILE"))

(declare-function eca-context-module-version "ext:eca-context-module" () t)
(declare-function eca-context-module-plan "ext:eca-context-module" (a b c) t)
(declare-function eca-context-module-answer "ext:eca-context-module" (a b c d e) t)
(declare-function eca-context-module-files "ext:eca-context-module" (a) t)
(declare-function eca-context-module-near "ext:eca-context-module" (a b) t)
(declare-function eca-context-module-error-frame "ext:eca-context-module" (a b c) t)
(declare-function eca-context-module-lsp-running-p "ext:eca-context-module" (a b) t)
(declare-function eca-context-module-serve-stop "ext:eca-context-module" () t)

(defun eca-context-module-test-body (frame)
  "Check the header of FRAME and return its body, parsed."
  (should-not (multibyte-string-p frame))
  (should (string-match "\\`Content-Length: \\([0-9]+\\)\r\n\r\n" frame))
  (let ((body (substring frame (match-end 0))))
    (should (= (length body) (string-to-number (match-string 1 frame))))
    (json-parse-string (decode-coding-string body 'utf-8) :object-type 'alist)))

(defun eca-context-module-test-said (frame)
  "Return the message of the one diagnostic in FRAME."
  (let ((found (alist-get 'diagnostics
                          (alist-get 'result (eca-context-module-test-body frame)))))
    (should (= (length found) 1))
    (alist-get 'message (aref found 0))))

(defun eca-context-module-test-diagnostic (message &optional id more)
  "Return the one message of an answer to ID whose facts hold MESSAGE.
MORE are items that cannot be read."
  (eca-context-module-test-said
   (eca-context-module-answer
    (or id 1) "editor/getDiagnostics" '(:uri "file:///f") nil
    `(:document (:path "/f")
      :diagnostics ((:provider "p" :kind "unknown" :status "ok"
                     :items ([nil "error" nil nil [0 0 0 1] ,message] "not an item" ,@more)))))))

(ert-deftest eca-context-module-c11-every-string-arrives ()
  (dolist (case `(("caf\u00e9" . "caf\u00e9") (,(string-to-multibyte "a\xe9z") . "a\ufffdz")
                  ("a\xe9z" . "a\ufffdz")
                  (,(string ?a #xd83d ?z) . "a\ufffdz")
                  (,(string ?a #x110000 ?z) . "a\ufffdz")))
    (should (equal (eca-context-module-test-diagnostic (car case)) (cdr case)))))

(defun eca-context-module-test-functions ()
  "Return the module's functions, conses of a name and how many arguments it needs."
  (mapcar (lambda (name)
            (cons name (car (func-arity (advice--cd*r (symbol-function name))))))
          (apropos-internal "\\`eca-context-module-[a-z]"
                            (lambda (name)
                              (and (fboundp name)
                                   (module-function-p (advice--cd*r (symbol-function name))))))))

(ert-deftest eca-context-module-c11-c41-c43-every-function-reads-every-string ()
  (should (> (length (eca-context-module-test-functions)) 15))
  (dolist (string (list "caf\xe9" (string-to-multibyte "caf\xe9") (string ?a #xd83d)
                        (string ?a #x110000)))
    (pcase-dolist (`(,name . ,n) (eca-context-module-test-functions))
      (let ((err (condition-case err
                     (progn (apply name (make-list n string)) nil)
                   (error err))))
        (ert-info ((format "%S %S %S" name string err))
          (should (or (null err)
                      (memq 'eca-context-error (get (car err) 'error-conditions))
                      ;; Where it wants a number, a process, or a vector.
                      (and (memq (car err) '(wrong-type-argument rust-module-wrong-type))
                           (not (eq (cadr err) 'stringp))))))))
    (eca-context-module-serve-stop)
    (should-not (eca-context-module-lsp-running-p string string))
    (should (equal (eca-context-module-test-body
                    (eca-context-module-error-frame string -1 string))
                   (let ((told (replace-regexp-in-string "[^a-z]+" "\ufffd" string)))
                     `((jsonrpc . "2.0") (id . ,told) (error (code . -1) (message . ,told))))))))

(ert-deftest eca-context-module-c38-ids-stay ()
  ;; Odd ones, which no float is.
  (dolist (case `((0 . "0") ("x" . "\"x\"") (,(1+ (expt 2 60)) . "1152921504606846977")
                  (,(1+ (expt 2 70)) . "1180591620717411303425")))
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
    (should (string-match-p "\"documentSymbols\":\\[\\]" frame)))
  ;; Looked at with nothing found, to the letter: a list is empty, false is said, the rest has no key.
  (let ((nothing '((:provider "p" :kind "textual" :status "ok" :items nil)))
        (features ["definitions" "references" "documentSymbols" "enclosingSymbols" "documentation"
                   "symbolAtPosition"]))
    (should (equal
             (alist-get 'result
                        (eca-context-module-test-body
                         (eca-context-module-answer
                          1 "editor/getContext"
                          `(:uri "file:///f" :position (:line 0 :character 0) :include ,features) nil
                          `(:document (:path "/f" :modified nil :diskNewer :json-false)
                            :position (:line 0 :character 0)
                            ,@(mapcan (lambda (feature) (list (intern (concat ":" feature)) nothing))
                                      features)))))
             `((uri . "file:///f") (position (line . 0) (character . 0))
               (document (modified . :false) (diskNewer . :false))
               (symbolAtPosition . :null) (definitions . []) (references . [])
               (documentSymbols . []) (enclosingSymbols . []) (documentation . [])
               (provenance ,@(mapcar (lambda (feature)
                                       (list (intern feature) '(kind . "textual")
                                             '(providers . ["p"])))
                                     (sort (append features nil) #'string<)))))))
  (dolist (case '((nil) (t (fresh . t)) (:json-false (fresh . :false))))
    (should (equal (alist-get 'result
                              (eca-context-module-test-body
                               (eca-context-module-answer
                                1 "editor/getDiagnostics" '(:uri "file:///f" :limit 5) nil
                                `(:document (:path "/f")
                                  :diagnostics ((:provider "p" :kind "unknown" :status "ok"
                                                 :fresh ,(car case) :items nil))))))
                   `((diagnostics . []) ,@(cdr case)
                     (document (modified . :false) (diskNewer . :false)) (total . 0))))))

(ert-deftest eca-context-module-reads-what-wraps-a-string ()
  (dolist (encoding '("utf-8" "utf-16" "utf-32" "odd" nil))
    (let ((body (eca-context-module-test-body
                 (eca-context-module-answer
                  1 "editor/getContext" '(:include ["documentSymbols"]) nil
                  `(:document (:path "/f")
                    :documentSymbols ((:provider "p" :kind "semantic" :status "ok" :raw []
                                       :encoding ,encoding)))))))
      (should-not (alist-get 'error body))
      (should (equal (alist-get 'documentSymbols (alist-get 'result body)) [])))))

;; One takes Emacs as long as thousands of calls.
(ert-deftest eca-context-module-reading-signals-nothing ()
  (dolist (n '(10 300 16300 16400 40000))
    (let* ((places (list (list :provider "p" :kind "semantic" :status "ok" :encoding "utf-16"
                               :rawJson (concat "[" (make-string n ?\s)
                                                "{\"uri\":\"file:///g\",\"range\":null}]"))))
           (signals nil)
           (signal-hook-function (lambda (&rest signal) (push signal signals))))
      (should (equal (eca-context-module-files places) '("/g")))
      (should (string-match-p
               "\"diagnostics\":\\[{"
               (eca-context-module-answer
                1 "editor/getDiagnostics" '(:uri "file:///f") '(:limit 10)
                `(:diagnostics ((:provider "p" :kind "semantic" :status "ok" :fresh t :items [])
                                (:provider "q" :kind "unknown" :status "ok" :fresh t
                                 :items (["/f" "error" nil nil [0 0 0 1] "m"]
                                         ["/f" "error" nil nil [0 1 0 2] "n"])))
                  :excluded nil :texts (["/f" ,(make-string n ?a) t])
                  :document (:path "/f" :lineCount 1 :version "1" :modified t :diskNewer nil)
                  :definitions ,places))))
      ;; What is longer than the module takes at once may.
      (when (< n 16384)
        (should-not signals)))))

(ert-deftest eca-context-module-first-key-of-a-plist-counts ()
  (should (equal (plist-get (eca-context-module-plan
                             "editor/getContext" '(:limit 3 :limit 5 :limit "x") nil)
                            :limit)
                 3)))

;; A module that runs out of the C stack takes Emacs with it.
(defun eca-context-module-test-nested (n in)
  "Return nil in N values, each made by IN of the one before."
  (let (value)
    (dotimes (_ n) (setq value (funcall in value)))
    value))

(defun eca-context-module-test-endless ()
  "Return values that a naive reader does not come to the end of."
  (let ((circle (list 1 2 3))
        (plist (list :a 1 :b 2))
        (itself (vector nil nil)))
    (setcdr (cddr circle) (cdr circle))
    (setcdr (last plist) plist)
    (fillarray itself itself)
    (append (list circle plist itself)
            (mapcar (lambda (in) (eca-context-module-test-nested 100000 in))
                    (list #'list #'vector (lambda (value) (list :a value))
                          (lambda (value) (list (vector value))))))))

(ert-deftest eca-context-module-reading-ends ()
  (dolist (value (eca-context-module-test-endless))
    (dolist (params (list value (list :uri value) (list :position (list :line value))
                          (list :uri "file:///f" :include value)))
      (let ((message (plist-get (plist-get (eca-context-module-plan "editor/getContext" params nil)
                                           :error)
                                :message)))
        (should (string-match-p "\\`params: \\(nested more than 128 deep\\|a circular list\\)"
                                message))
        (should (equal (alist-get 'error (eca-context-module-test-body
                                          (eca-context-module-answer
                                           1 "editor/getContext" params nil nil)))
                       `((code . -32602) (message . ,message)))))
      (should (string-prefix-p
               "not checked: params: "
               (eca-context-module-test-said
                (eca-context-module-answer 1 "editor/getDiagnostics" params nil nil)))))
    ;; What nobody wants is not looked at.
    (should (eca-context-module-test-body
             (eca-context-module-answer 1 "editor/getContext" nil (list :more value)
                                        (list :more value))))
    (dolist (facts (list value (list :document value) (list :document (list :path value))
                         (list :diagnostics value)))
      (should (eca-context-module-test-body
               (eca-context-module-answer 1 "editor/getContext" nil nil facts)))
      (should (string-prefix-p
               "not checked: "
               (eca-context-module-test-said
                (eca-context-module-answer 1 "editor/getDiagnostics" nil nil facts)))))
    (should (equal (eca-context-module-test-diagnostic "m" 1 (list (vector nil "error" nil nil value "n")
                                                                  (list :range [0 0 0 1] :message value)))
                   "m"))
    (eca-context-module-near (vector value) nil)))

(ert-deftest eca-context-module-numbers-of-any-size ()
  (let ((huge (expt 10 400)))
    (dolist (case `((,(- huge) "got -1.797") (,(- (expt 2 70)) "got -1.18") (0.0e+NaN "got \"NaN\"")
                    (-1.0e+INF "got -1.797") (1e-30 "got 1e-30") (-1 "got -1") (nil "got null")))
      (let ((message (plist-get (plist-get (eca-context-module-plan
                                            "editor/getContext"
                                            `(:uri "file:///f" :position (:line ,(car case) :character 0))
                                            nil)
                                           :error)
                                :message)))
        (should (string-match-p (concat "\\`position\\.line: " (regexp-quote (cadr case))) message))))
    (dolist (number (list huge (expt 2 70) 1.0e+INF 1e30 (expt 2 40)))
      (let ((plan (eca-context-module-plan
                   "editor/getContext"
                   `(:uri "file:///f" :position (:line ,number :character ,number) :limit ,number) nil)))
        (should (equal (list (plist-get plan :line) (plist-get plan :character) (plist-get plan :limit))
                       (list #xffffffff #xffffffff 1000)))))
    (should (string-match-p
             "\"range\":{\"start\":{\"line\":2,\"character\":0},\"end\":{\"line\":2,\"character\":4294967295}}"
             (eca-context-module-answer
              1 "editor/getDiagnostics" '(:uri "file:///f") nil
              `(:document (:path "/f")
                :diagnostics ((:status "ok" :items ([nil "error" nil nil [2.0 0 2 ,huge] "m"])))))))
    (should (string-match-p "\"id\":null" (eca-context-module-answer 1.0e+INF "x" nil nil nil)))))

(ert-deftest eca-context-module-no-outcome-is-one-that-failed ()
  (pcase-dolist (`(,outcome ,said)
                 `((5 "it gave no outcome: ") ("x" "it gave no outcome: ")
                   (nil "it gave no outcome: nothing")
                   ((:items 5) "it gave no outcome: items: ")
                   ((:provider ,(current-buffer) :items nil) "it gave no outcome: provider: ")
                   ((:provider "p" :status 3) "p: it gave no outcome: status: ")
                   ((:provider "p" :kind (1 2)) "p: it gave no outcome: kind: ")
                   ((:provider "p" 5 6) "it gave no outcome: ")
                   ((:provider "p" :items ,(symbol-function 'car)) "p: it gave no outcome: items: ")
                   ((:provider "p" :items [nil 5 "x" [nil "error" nil nil nil "m"]
                                           [nil "error" nil nil [0 0 0 1.5] "m"]])
                    "p: 5 items of its answer cannot be read")))
    (let ((answer (alist-get 'result
                             (eca-context-module-test-body
                              (eca-context-module-answer
                               1 "editor/getDiagnostics" '(:uri "file:///f") nil
                               `(:document (:path "/f")
                                 :diagnostics (,outcome
                                               (:provider "q" :fresh t
                                                :items ([nil nil nil nil [0 0 0 1] "m"])))))))))
      (ert-info ((format "%S" outcome))
        (should (string-prefix-p said (alist-get 'reason (aref (alist-get 'unavailable answer) 0))))
        (should (= (length (alist-get 'unavailable answer)) 1))
        (should (equal (alist-get 'code (aref (alist-get 'unavailable answer) 0)) "partial"))
        (should (eq (alist-get 'fresh answer) :false))
        (should (= (length (alist-get 'diagnostics answer)) 1))))))

(ert-deftest eca-context-module-errors-are-conditions ()
  (should-error (eca-context-module-plan 5 nil nil) :type 'eca-context-error))

(provide 'eca-context-module-test)
;;; eca-context-module-test.el ends here
