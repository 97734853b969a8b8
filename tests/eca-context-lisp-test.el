;;; eca-context-lisp-test.el --- Tests of the gatherers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Positions, imenu, xref, the collector and the door of eca-emacs, each by the cases from the field.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'eca-context)
(require 'eca-context-collect)
(require 'eca-context-eca)

(defmacro eca-context-lisp-test-with (text &rest body)
  "Evaluate BODY in a temporary buffer that holds TEXT."
  (declare (indent 1))
  `(with-temp-buffer (insert ,text) (goto-char (point-min)) ,@body))

(defun eca-context-lisp-test-place (target)
  "Return where TARGET begins in the current buffer, as (LINE . CHARACTER)."
  (goto-char (point-min))
  (search-forward target)
  (car (eca-context-position-sweep (list (match-beginning 0)))))

(ert-deftest eca-context-position-c01-c02-utf-16 ()
  (dolist (case '(("\n\tx = \"😀\"; bad()" "bad" 1 . 11) ("cafe\u0301 = bad" "bad" 0 . 8)
                  ("s = \"👩\u200d👩\u200d👧\"; bad" "bad" 0 . 16) ("s = \"🇵🇱\"; bad" "bad" 0 . 12)
                  ("變數 = bad" "bad" 0 . 5) ("𠮷 = bad" "bad" 0 . 5) ("let 𝒳 = bad" "bad" 0 . 9)
                  ("a\u200bb bad" "bad" 0 . 4) ("\t\tfoo" "foo" 0 . 2)
                  ("ab\r\ncd\r\n" "cd" 1 . 0) ("\ufeffabc" "abc" 0 . 0)))
    (eca-context-lisp-test-with (car case)
      (should (equal (eca-context-lisp-test-place (cadr case)) (cddr case)))
      (should (= (match-beginning 0)
                 (eca-context-position-to-point (caddr case) (cdddr case)))))))

(ert-deftest eca-context-position-c04-c07-edges ()
  (eca-context-lisp-test-with "\tx = \"😀\"; bad()"
    (should (equal (eca-context-position-to-point 0 7) (eca-context-position-to-point 0 6))))
  (eca-context-lisp-test-with "ab\ncd"
    (should (= (eca-context-position-to-point 1 25) (point-max)))
    (should-not (eca-context-position-to-point 2 0))
    (should-not (eca-context-position-to-point 99 0)))
  (eca-context-lisp-test-with "a\nb\n"
    (should (= (eca-context-position-to-point 2 0) (point-max)))
    (should (= (eca-context-position-n-lines) 3))))

(ert-deftest eca-context-position-finds-whole-symbols ()
  (eca-context-lisp-test-with "subtotal total total\n"
    (should (equal (eca-context-position-find-symbol 0 "total" 1) '(10 . 2)))
    (should (equal (eca-context-position-find-symbol 0 "total" 2) '(16 . 2)))
    (should (equal (eca-context-position-find-symbol 0 "tot" 1) '(nil . 0)))))

(defun eca-context-lisp-test-index (index)
  "Return the items for INDEX, an index as imenu has it."
  (let ((imenu-create-index-function (lambda () index)))
    (plist-get (eca-context-imenu-document-symbols nil nil) :items)))

(ert-deftest eca-context-imenu-c14-c15-c17-shapes ()
  (eca-context-lisp-test-with (make-string 200 ?\n)
    (should (equal (eca-context-lisp-test-index '(("a" ("b" ("C" ("m" . 40))))))
                   '(["a" nil nil [["b" nil nil [["C" nil nil [["m" 39 0]]]]]]])))
    (should (equal (eca-context-lisp-test-index
                    '(("Chapter 1" 120 my-goto "x") ("Fn" ("foo" [obj] my-goto))))
                   '(["Chapter 1" 119 0] ["Fn" nil nil [["foo" nil nil]]])))
    (should-not (eca-context-lisp-test-index '(("*Rescan*" . -99) nil)))
    (should (equal (eca-context-lisp-test-index '(("" . 20))) '(["" 19 0]))))
  (with-temp-buffer
    (fundamental-mode)
    (should (equal (plist-get (eca-context-imenu-document-symbols nil nil) :status)
                   "unsupported-by-provider"))))

(ert-deftest eca-context-imenu-c19-is-fresh-and-leaves-the-cache ()
  (eca-context-lisp-test-with "(defun aa ())\n"
    (emacs-lisp-mode)
    (imenu--make-index-alist t)
    (let* ((cached imenu--index-alist)
           (before (copy-tree cached))
           (items (lambda ()
                    (mapcar (lambda (item) (substring item 0 3))
                            (plist-get (eca-context-imenu-document-symbols nil nil) :items)))))
      ;; Our own index is out of date by then, too.
      (should (equal (funcall items) '(["aa" 0 0])))
      (goto-char (point-max))
      (insert "(defun zz ())\n")
      (should (equal (sort (funcall items) (lambda (a b) (< (aref a 1) (aref b 1))))
                     '(["aa" 0 0] ["zz" 1 0])))
      (should (eq cached imenu--index-alist))
      (should (equal cached before)))))

(cl-defmethod xref-backend-identifier-at-point ((_ (eql eca-context-lisp-test))) "x")
(cl-defmethod xref-backend-definitions ((_ (eql eca-context-lisp-test)) _id)
  (list (xref-make "x" (xref-make-file-location (getenv "ECA_CONTEXT_MODULE_FILE") 3 0))))

(ert-deftest eca-context-xref-c23-a-fault-does-not-silence-the-next ()
  (with-temp-buffer
    (setq-local xref-backend-functions
                (list (lambda () (error "Broken")) (lambda () 'eca-context-lisp-test) t))
    (let ((outcomes (eca-context-xref-definitions nil nil)))
      (should (equal (mapcar (lambda (o) (list (plist-get o :status) (plist-get o :reason)))
                             outcomes)
                     '(("error" "Broken") ("ok" nil))))
      (should (equal (aref (car (plist-get (cadr outcomes) :items)) 1) 2)))))

(defun eca-context-lisp-test-ask (method params &optional roots)
  "Return the parsed answer to METHOD with PARAMS within ROOTS."
  (let ((frames nil) (deadline (+ (float-time) 20)))
    (eca-context-answer 7 method params (list :roots roots :deadline (+ (float-time) 10))
                        (lambda (frame) (push frame frames)))
    (should-not frames)
    (while (and (null frames) (< (float-time) deadline))
      (accept-process-output nil 0.01))
    (should (= (length frames) 1))
    (json-parse-string
     (decode-coding-string (substring (car frames) (string-match "{" (car frames))) 'utf-8)
     :object-type 'plist :array-type 'list :null-object nil :false-object nil)))

(defun eca-context-lisp-test-uri (file)
  "Return the URI of FILE."
  (concat "file://" (url-hexify-string file (cons ?/ url-unreserved-chars))))

(ert-deftest eca-context-collect-c36-says-why-not ()
  (let* ((folder (make-temp-file "eca-context" t))
         (secret (expand-file-name "a.pem" folder))
         (codes (lambda (file &optional roots)
                  (plist-get (car (plist-get
                                   (plist-get (eca-context-lisp-test-ask
                                               "editor/getContext"
                                               (list :uri (eca-context-lisp-test-uri file)) roots)
                                              :result)
                                   :unavailable))
                             :code))))
    (unwind-protect
        (progn
          (write-region "" nil secret nil 'silent)
          (should (equal (funcall codes secret) "excluded"))
          (should (equal (funcall codes (expand-file-name "no" folder)) "not-found"))
          (should (equal (funcall codes folder) "not-a-file"))
          (should (equal (funcall codes "/etc/passwd" (list folder)) "outside-workspace")))
      (delete-directory folder t))))

(ert-deftest eca-context-collect-c05-c26-the-guest-leaves-no-trace ()
  (let* ((folder (make-temp-file "eca-context my dir" t))
         (file (expand-file-name "caf é#1 100%25.el" folder))
         (uri (eca-context-lisp-test-uri file)))
    (unwind-protect
        (progn
          (let ((coding-system-for-write 'utf-8))
            (write-region "(defun aa-b ()\n  1)\n\t(list \"😀\" (aa-b))\n" nil file nil 'silent))
          (with-current-buffer (find-file-noselect file)
            (goto-char (point-min))
            (forward-line 2)
            (narrow-to-region (point) (point-max))
            (let* ((world (lambda ()
                            (list (seq-remove (lambda (b) (string-prefix-p " " (buffer-name b)))
                                              (buffer-list))
                                  (point) (point-min) (mark t) (buffer-modified-p)
                                  (buffer-chars-modified-tick) (length timer-list)
                                  (process-list) kill-ring)))
                   (before (funcall world))
                   (answer (plist-get
                            (eca-context-lisp-test-ask
                             "editor/getContext"
                             (list :uri uri :position '(:line 2) :symbol "aa-b") (list folder))
                            :result)))
              (should (equal (plist-get answer :uri) uri))
              (should (equal (plist-get answer :position) '(:line 2 :character 13)))
              (should (equal (plist-get (plist-get answer :symbolAtPosition) :text) "aa-b"))
              (should (equal (plist-get (car (plist-get answer :documentSymbols)) :name) "aa-b"))
              (should (equal (funcall world) before)))
            (kill-buffer)))
      (delete-directory folder t))))

;; The real flycheck, whose errors have columns in characters from 1.
(declare-function flycheck-mode "ext:flycheck" (&optional arg) t)
(declare-function flycheck-error-new-at "ext:flycheck" (line column level message &rest args) t)
(defvar flycheck-current-errors)

(ert-deftest eca-context-flycheck-c01-columns-are-utf-16 ()
  (require 'flycheck)
  (eca-context-lisp-test-with "\tx = \"😀\"; bad()\n"
    (setq buffer-file-name "/f")
    (setq-local flycheck-current-errors
                (list (flycheck-error-new-at 1 11 'warning "not good" :buffer (current-buffer))))
    (setq-local flycheck-mode t)
    (let* ((outcome (eca-context-flycheck-diagnostics '(:path "/f") nil))
           (item (elt (plist-get outcome :items) 0)))
      (set-buffer-modified-p nil)
      (should (equal (aref item 1) "warning"))
      (should (equal (seq-take (aref item 4) 2) [0 11]))
      (should (equal (aref item 5) "not good")))))

;; Loaded here, as a user's command would.
(declare-function eca-context-at-point "eca-context-report" (&optional features))
(declare-function eca-context-doctor "eca-context-report" ())

(ert-deftest eca-context-report-shows-the-answer ()
  (require 'eca-context-report)
  (let ((file (make-temp-file "eca-context" nil ".el" "(defun aa ())\n"))
        (deadline (+ (float-time) 20)))
    (unwind-protect
        (progn
          (with-current-buffer (find-file-noselect file)
            (goto-char 9)
            (eca-context-at-point))
          (with-current-buffer "*eca-context*"
            (while (not (or (string-match-p "^diagnostics" (buffer-string))
                            (> (float-time) deadline)))
              (accept-process-output nil 0.01))
            (should (string-match-p "^symbolAtPosition.*\n  aa  code" (buffer-string)))
            (should (string-match-p "^documentSymbols.*imenu" (buffer-string)))
            (should (string-match-p "no checker is active" (buffer-string)))))
      (delete-file file))))

(ert-deftest eca-context-eca-advertises-and-leaves ()
  (should-not (eca-context-module-trouble))
  (let* ((eca-context-disabled-features '("references"))
         (params '(:capabilities (:codeAssistant (:editor (:diagnostics t)))))
         (asked (cl-letf (((symbol-function 'eca--session-workspace-folders) #'ignore))
                  (eca-context-eca--request (list 'session :method "initialize" :params params))))
         (editor (plist-get (plist-get (plist-get (plist-get (cdr asked) :params) :capabilities)
                                       :codeAssistant)
                            :editor)))
    (should (eq (plist-get (plist-get editor :context) :definitions) t))
    (should (eq (plist-get (plist-get editor :context) :references) :json-false))
    (should (eq (plist-get editor :diagnostics) t))
    (should (equal params '(:capabilities (:codeAssistant (:editor (:diagnostics t)))))))
  (should (equal (eca-context-eca--handle (lambda (_session request) request) nil
                                          '(:method "chat/askQuestion"))
                 '(:method "chat/askQuestion")))
  (eca-context-mode 1)
  (should (advice-member-p #'eca-context-eca--handle 'eca--handle-server-request))
  (eca-context-mode -1)
  (should-not (advice-member-p #'eca-context-eca--handle 'eca--handle-server-request))
  (should-not (advice-member-p #'eca-context-eca--request 'eca-api-request-async)))

(ert-deftest eca-context-mode-c42-without-a-module-is-off ()
  (cl-letf (((symbol-function 'eca-context-module-trouble) (lambda () "not built")))
    (let ((inhibit-message t))
      (eca-context-mode 1))
    (should-not eca-context-mode)
    (should-not (advice-member-p #'eca-context-eca--handle 'eca--handle-server-request))))

(provide 'eca-context-lisp-test)
;;; eca-context-lisp-test.el ends here
