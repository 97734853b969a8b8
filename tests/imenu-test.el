;;; imenu-test.el --- Tests of the symbols that imenu knows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The shapes that real modes give to their index, from file to answer, and when an index is made anew.

;;; Code:

(require 'cl-lib)
(require 'guest)
(require 'imenu)
;; Where it is missing, so is its shape, and the test fails.
(require 'markdown-mode nil t)
(require 'org)

(defun imenu-test-tree (symbols)
  "Return SYMBOLS of an answer as lists (NAME KIND LINE CHARACTER END CHILDREN...)."
  (mapcar (lambda (symbol)
            (let ((range (plist-get symbol :selectionRange)))
              (append (list (plist-get symbol :name) (plist-get symbol :kind))
                      (and range
                           (list (plist-get (plist-get range :start) :line)
                                 (plist-get (plist-get range :start) :character)
                                 (plist-get (plist-get range :end) :character)))
                      (imenu-test-tree (plist-get symbol :children)))))
          symbols))

(defconst imenu-test-shapes
  '(("a.py" "X = 1\nclass Cart:\n    class In:\n        def a(self):\n            def inner():\n                pass\n    def total(self, 𝒳, x):\n        return 1\n    async def later(self):\n        pass\nclass Empty: pass\ndef main():\n    def nested():\n        pass\n    pass\n"
     ("Cart" "class" 1 6 10
      ("In" "class" 2 10 12 ("a" "method" 3 12 13) ("inner" "method" 4 16 21))
      ("total" "method" 6 8 13) ("later" "method" 8 14 19))
     ("Empty" "class" 10 6 11)
     ("main" "function" 11 4 8 ("nested" "function" 12 8 14)))
    ("a.md" "# One\n## Two *x*\ntext\n### 三\n# Four\nSetext\n======\n"
     ("One" nil 0 2 5 ("Two *x*" nil 1 3 10 ("三" nil 3 4 5))) ("Four" nil 4 2 6)
     ("Setext" nil 5 0 6))
    ("a.org" "* One\n** Two\ntext\n**** Three\n** TODO [#A] Four :tag:\n* Five\n"
     ("One" nil 0 2 5 ("Two" nil 1 3 6 ("Three" nil 3 5 10)) ("Four" nil 4 13 17))
     ("Five" nil 5 2 6))
    ("a.cpp" "#define M 1\nclass A { public: int f(); };\nint A::f() { return 1; }\nnamespace n { int g(int x) {\n return x; }\n}\nstruct S { int a; };\nint main() { return 0; }\n"
     ("A" "class" 1 6 7) ("A::f" nil 2 4 8) ("g" nil 3 18 19) ("S" "struct" 6 7 8)
     ("main" nil 7 4 8))
    ("a.pl" "package P;\nsub f { }\n" ("P" nil 0 8 9) ("f" nil 1 4 5))
    ("a.rb" "module M\nclass A\n  def f\n  end\nend\nend\n"
     ("M" nil 0 7 8) ("M::A" "class" 1 6 7) ("M::A#f" "function" 2 6 7))
    ("a.el" "(defun f ())\n(defvar v 1)\n(cl-defstruct s a)\n(defface fa '((t)) \"\")\n"
     ("f" "function" 0 7 8) ("v" "variable" 1 8 9) ("s" "struct" 2 14 15)
     ("fa" "variable" 3 9 11)))
  "Files, texts, and the symbols in them.")

(ert-deftest imenu-test-shapes-of-modes ()
  (guest-with-folder folder
    (pcase-dolist (`(,name ,text . ,tree) imenu-test-shapes)
      (let ((uri (guest-write (concat folder name) text)))
        (dolist (is-visited '(nil t))
          (when is-visited
            (find-file-noselect (concat folder name)))
          (should (equal (list name is-visited tree)
                         (list name is-visited
                               (imenu-test-tree
                                (plist-get (plist-get (guest-ask "editor/getContext"
                                                                 (list :uri uri :include
                                                                       ["documentSymbols"]))
                                                      :result)
                                           :documentSymbols))))))))))

(defun imenu-test-names ()
  "Return the names that are known of the current buffer."
  (mapcar (lambda (item) (aref item 0))
          (plist-get (eca-context-imenu-document-symbols nil nil) :items)))

(defvar imenu-test--n-made 0 "How many indexes were made.")
(defun imenu-test-make ()
  "Make an index in the default way."
  (setq imenu-test--n-made (1+ imenu-test--n-made))
  (imenu-default-create-index-function))

(ert-deftest imenu-test-what-makes-an-index-anew ()
  (with-temp-buffer
    (insert "one 1\ntwo 2\n,x 3\n")
    (setq-local imenu-generic-expression '((nil "^\\(one\\)" 1)))
    (let ((imenu-test--n-made 0))
      (setq-local imenu-create-index-function #'imenu-test-make)
      (should (equal (imenu-test-names) '("one")))
      (should (equal (imenu-test-names) '("one")))
      (should (= imenu-test--n-made 1))
      (setq-local imenu-generic-expression (list (list nil "^\\(two\\)" 1)))
      (should (equal (imenu-test-names) '("two")))
      ;; In place, too.
      (setcar (cdr (car imenu-generic-expression)) "^\\(one\\|two\\)")
      (should (equal (imenu-test-names) '("one" "two")))
      (setcar (cdr (car imenu-generic-expression)) "^\\_<\\(.*?\\) ")
      (should (equal (imenu-test-names) '("one" "two")))
      (let ((table (make-syntax-table)))
        (modify-syntax-entry ?, "_" table)
        (set-syntax-table table)
        (should (equal (imenu-test-names) '("one" "two" ",x"))))
      (setq-local imenu-case-fold-search nil)
      (setcar (cdr (car imenu-generic-expression)) "^\\(ONE\\)")
      (should-not (imenu-test-names))
      (setq-local imenu-case-fold-search t)
      (should (equal (imenu-test-names) '("one")))
      (setq-local imenu-create-index-function (lambda () '(("other" . 1))))
      (should (equal (imenu-test-names) '("other")))
      (text-mode)
      (should (equal (plist-get (eca-context-imenu-document-symbols nil nil) :status)
                     "unsupported-by-provider"))
      (insert "x")
      (setq-local imenu-create-index-function (lambda () '(("more" . 1))))
      (should (equal (imenu-test-names) '("more"))))))

(ert-deftest imenu-test-names-carry-no-properties ()
  (with-temp-buffer
    (insert "a\nb\n")
    (setq-local imenu-create-index-function
                (lambda ()
                  (list (cons (propertize "a" 'breadcrumb-region '(1 . 2) 'breadcrumb-kind "Class")
                              1)
                        (cons (propertize "b" 'imenu-region '(3 . 4)
                                          'imenu-kind (propertize "Enum Member" 'face 'bold))
                              (copy-marker 3)))))
    (let ((items (plist-get (eca-context-imenu-document-symbols nil nil) :items)))
      (should (equal items '(["a" 0 0 nil "Class"] ["b" 1 0 nil "Enum Member"])))
      (dolist (item items)
        (should-not (text-properties-at 0 (aref item 0)))
        (should-not (text-properties-at 0 (aref item 4)))))))

(ert-deftest imenu-test-no-language-server-is-waited-for ()
  (with-temp-buffer
    (insert "first\n")
    (let ((wait (lambda () (error "It was asked"))))
      (cl-letf (((symbol-function 'eglot-imenu) wait)
                ((symbol-function 'lsp--imenu-create-index) wait))
        (setq-local imenu-create-index-function (lambda () '(("own" . 1))))
        (add-function :before-until (local 'imenu-create-index-function) 'eglot-imenu)
        (let ((before imenu-create-index-function))
          (should (equal (imenu-test-names) '("own")))
          (should (eq imenu-create-index-function before)))
        (setq-local imenu-create-index-function 'lsp--imenu-create-index)
        (setq-local imenu-generic-expression '((nil "^\\(first\\)" 1)))
        (should (equal (imenu-test-names) '("first")))))))

(ert-deftest imenu-test-the-users-own-index-of-org ()
  (guest-with-folder folder
    (let ((uri (guest-write (concat folder "a.org") "* One\n** Two\n")))
      (with-current-buffer (find-file-noselect (concat folder "a.org"))
        (imenu--make-index-alist t)
        (let* ((marker (cdr (assoc "Two" (cdr (assoc "One" imenu--index-alist)))))
               (at (marker-position marker)))
          (should (= at 7))
          (guest-ask "editor/getContext" (list :uri uri :include ["documentSymbols"]))
          (should (equal (marker-position marker) at)))))))

;; As js-mode does, whose copy of a file made the next buffer's index an error.
(ert-deftest imenu-test-a-variable-of-another-mode ()
  (let ((outcome (lambda ()
                   (setq imenu-create-index-function (lambda () '(("f" . 1))))
                   (eca-context-imenu-document-symbols nil nil)))
        (eca-context-imenu--variables nil))
    (with-temp-buffer
      (set (make-local-variable (intern "imenu-test-of-one-mode")) 1)
      (should (equal (plist-get (funcall outcome) :status) "ok")))
    (with-temp-buffer
      (should (equal (plist-get (funcall outcome) :status) "ok")))))

(provide 'imenu-test)
;;; imenu-test.el ends here
