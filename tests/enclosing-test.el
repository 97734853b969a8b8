;;; enclosing-test.el --- Tests of the symbols around a place  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Each case is a text with `$0' where it is asked, and what is around that.

;;; Code:

(require 'cl-lib)
(require 'guest)

(defvar treesit-extra-load-path)

(defun enclosing-test-items (mode text)
  "Return the items at `$0' in TEXT under MODE, and the text without it."
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (search-forward "$0")
    (replace-match "")
    (let ((pos (point))
          (inhibit-message t))
      (funcall mode)
      (goto-char pos)
      (let ((outcome (or (eca-context-defun-enclosing-symbols nil nil)
                         (eca-context-defun-named nil nil))))
        (should (= (point) pos))
        (list (plist-get outcome :items) (buffer-string) outcome)))))

(defun enclosing-test-text (text range)
  "Return what stands in TEXT at RANGE."
  (with-temp-buffer
    (insert text)
    (buffer-substring (eca-context-position-to-point (aref range 0) (aref range 1))
                      (eca-context-position-to-point (aref range 2) (aref range 3)))))

(defun enclosing-test-check (mode text wanted)
  "Check that around `$0' in TEXT under MODE there is what is WANTED.
That is a list of (NAME KIND FIRST LAST): words at both ends of the range."
  (pcase-let ((`(,items ,text ,_) (enclosing-test-items mode text)))
    (should (equal (list text (mapcar (lambda (one) (list (nth 0 one) (nth 1 one))) wanted))
                   (list text (mapcar (lambda (item) (list (aref item 0) (aref item 1))) items))))
    (cl-mapc (lambda (item one)
               (let ((whole (enclosing-test-text text (aref item 2))))
                 (should (string-prefix-p (nth 2 one) whole))
                 (should (string-suffix-p (nth 3 one) whole))
                 ;; A qualified name stands there by its last part.
                 (should (string-suffix-p (enclosing-test-text text (aref item 3)) (nth 0 one)))))
             items wanted)))

(ert-deftest enclosing-test-lisp ()
  (pcase-dolist
      (`(,mode ,text . ,wanted)
       '((emacs-lisp-mode "(defun f (x)\n  \"😀 (\" (list $0x))\n(defun g ())" ("f" "function" "(defun f" "x))"))
         (emacs-lisp-mode "(defun f (x)\n  x)\n$0\n(defun g ())")
         (emacs-lisp-mode "(defun f (x)\n  x)$0\n" ("f" "function" "(defun f" "x)"))
         (emacs-lisp-mode "$0(defun f (x)\n  x)\n" ("f" "function" "(defun f" "x)"))
         (emacs-lisp-mode "(defun f$0 (x)\n  x)\n" ("f" "function" "(defun f" "x)"))
         (emacs-lisp-mode "(defun f (x)\n  (cl-defun g () $0x))" ("f" "function" "(defun f" "x))")
                          ("g" "function" "(cl-defun g" "x)"))
         (emacs-lisp-mode "(progn\n(cl-defmethod m ((a string)) $0a))" ("m" "method" "(cl-defm" "a)"))
         (emacs-lisp-mode "(cl-defstruct (cat (:copier nil))\n  $0lives)"
                          ("cat" "struct" "(cl-defstruct" "lives)"))
         (emacs-lisp-mode "(defclass cat ()\n  ($0lives))" ("cat" "class" "(defclass" "lives))"))
         (emacs-lisp-mode "(define-minor-mode m \"$0\")" ("m" "function" "(define-minor" "\")"))
         (emacs-lisp-mode "(defvar v $0 1)") (emacs-lisp-mode "(default-value $0 1)")
         (emacs-lisp-mode "(defvar v\n '($0 1))" ("v" "variable" "(defvar" "1))"))
         (emacs-lisp-mode "(defun f ()\n (define-key map $0 1))" ("f" "function" "(defun" "1))"))
         ;; Not closed: nobody knows where it ends.
         (emacs-lisp-mode "(defun f ()\n (list $0 1)\n")
         (emacs-lisp-mode ";; (defun f ()\n;; $0)\n") (emacs-lisp-mode "$0")
         (lisp-mode "(defpackage foo\n $0)" ("foo" "module" "(defpackage" ")"))
         (scheme-mode "(define (f x)\n  $0x)" ("f" "function" "(define (f" "x)"))))
    (enclosing-test-check mode text wanted)))

(defconst enclosing-test-python
  '(("class Cart:\n    def total(self):\n        return $0 1\n\n\ndef main():\n    pass\n"
     ("Cart" "class" "class Cart" "return  1") ("total" "method" "def total" "return  1"))
    ("class Cart:\n    def to$0tal(self):\n        return 1\n"
     ("Cart" "class" "class Cart" "return 1") ("total" "method" "def total" "return 1"))
    ("def f():\n    return 1$0\n\n\n" ("f" "function" "def f" "return 1"))
    ("def f():\n    return 1\n\n$0\n") ("def f():\n    return 1\nx = $0 2\n")
    ("$0def f():\n    return 1\n" ("f" "function" "def f" "return 1"))
    ("def f(a,\n  b):\n    x = \"\"\"\ndef g():\n  $0pass\n\"\"\"\n    return 2\n"
     ("f" "function" "def f" "return 2"))
    ("def f():\n    if 1:\n        async def g():\n            pass$0\n    return 2\n"
     ("f" "function" "def f" "return 2") ("g" "function" "async def g" "pass"))
    ("class A:\n    x = 1\n\n    $0\n    y = 2\n" ("A" "class" "class A" "y = 2"))
    ("if x:\n    def f():\n        pass\nelse:\n    y = $0 2\n")
    ("class 猫:\n\tdef 𝒳m(self): return $01\n" ("猫" "class" "class 猫" "return 1") ("𝒳m" "method" "def 𝒳m" "return 1"))
    ("")
    ("x = 1 + \\\n  2$0"))
  "Texts of Python, and what is around `$0'.")

(ert-deftest enclosing-test-python-mode ()
  (pcase-dolist (`(,text . ,wanted) enclosing-test-python)
    (enclosing-test-check 'python-mode (if (equal text "") "$0" text) wanted)))

(ert-deftest enclosing-test-braces ()
  (pcase-dolist
      (`(,mode ,text . ,wanted)
       '((c-mode "#define M 1\nint f(int a)\n{\n  if (a) { return $01; }\n}\nint g(void);\n"
                 ("f" "function" "int f" "}\n}"))
         (c-mode "int f(int $0a)\n{\n  return 1;\n}\n" ("f" "function" "int f" ";\n}"))
         (c-mode "int f(int a)\n{\n  return 1;\n}\n$0\nint g(void) { return 2; }\n")
         (c-mode "int f(int a) { return 1; }$0\n" ("f" "function" "int f" "1; }"))
         (c-mode "static int t[] = { $0 1 };\n") (c-mode "int f(int a) {\n  $0\n")
         (c++-mode "int A::f() { return 1; }\nnamespace n { int g(int x) {\n return $0x; }\n}\n"
                   ("g" "function" "int g" "x; }"))
         (c++-mode "struct S {\n  int a;$0\n};\n" ("S" "struct" "struct S" "\n}"))
         (c++-mode "A::A() : x{1}, y(2) {\n  $0f(\"}\");\n}\n" ("A::A" "function" "A::A" "\n}"))
         (perl-mode "package P;\nsub f {\n  my %h = (a => $01);\n}\n" ("f" "function" "sub f" "\n}"))
         (sh-mode "foo() {\n  echo ${x} $0\n}\nbar() { :; }\n" ("foo" "function" "foo()" "\n}"))
         ;; Braces within the head, which were once looked at for ever.
         (js-mode "function f({a, b: {c}}, d = {}) {\n  g($01);\n}\n"
                  ("f" "function" "function f" "\n}"))
         (js-mode "function f(a) {\n  return {b: $01};\n}\n" ("f" "function" "function f" "\n}"))))
    (enclosing-test-check mode text wanted)))

;; Emacs 28 has no tree-sitter; there the same texts go through Python's own mode above.
(declare-function treesit-available-p "ext:treesit" () t)
(declare-function treesit-parser-list "ext:treesit" (&optional buffer language tag) t)
(defun enclosing-test-ts-mode ()
  "Switch on Python's mode with tree-sitter, by the grammar that setup.sh built."
  (let ((treesit-extra-load-path
         (list (expand-file-name "../.test/tree-sitter"
                                 (file-name-directory (locate-library "guest"))))))
    (funcall (intern "python-ts-mode"))
    (should (eq major-mode 'python-ts-mode))
    (should (treesit-parser-list))))

(when (and (fboundp 'treesit-available-p) (treesit-available-p))
  (ert-deftest enclosing-test-tree-sitter ()
    (pcase-dolist (`(,text . ,wanted) enclosing-test-python)
      (enclosing-test-check #'enclosing-test-ts-mode (if (equal text "") "$0" text) wanted))
    (should (equal (plist-get (nth 2 (enclosing-test-items #'enclosing-test-ts-mode "x = $01"))
                              :provider)
                   "treesit"))))

(ert-deftest enclosing-test-by-the-mode-itself ()
  (let ((ruby "module M\n  class A\n    def f(x)\n      x.each { |y| y }\n    end\n\n    def g(x)\n      if x then 1 end\n    end\n  end\nend\n"))
    (pcase-dolist (`(,place . ,wanted)
                   '(("|y| y" ("M" "module" "module M" "end\nend") ("M::A" "class" "class A" "end\n  end")
                      ("M::A#f" "method" "def f(x)" "}\n    end"))
                     ("then 1" ("M" "module" "module M" "end\nend")
                      ("M::A" "class" "class A" "end\n  end") ("M::A#g" "method" "def g(x)" "end\n    end"))
                     ("\n\n    d" ("M" "module" "module M" "end\nend")
                      ("M::A" "class" "class A" "end\n  end"))))
      (let ((text (replace-regexp-in-string (concat "\\(" (regexp-quote place) "\\)")
                                            (lambda (found)
                                              (concat (substring found 0 1) "$0" (substring found 1)))
                                            ruby t t)))
        (enclosing-test-check 'ruby-mode text wanted))))
  (enclosing-test-check 'octave-mode "function y = f(x)\n  z $0= 1;\nendfunction\nw = 2;\n"
                        '(("f" "function" "function y" "endfunction")))
  (enclosing-test-check 'octave-mode "function y = f(x)\n  z = 1;\nendfunction\nw = $02;\n" nil))

(ert-deftest enclosing-test-who-does-not-know ()
  (dolist (mode '(text-mode fundamental-mode))
    (should-not (nth 2 (enclosing-test-items mode "Chapter {\n $0 \n}")))))

(provide 'enclosing-test)
;;; enclosing-test.el ends here
