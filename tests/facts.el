;;; facts.el --- What a server answered, in a form to compare  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Raw results, plists or hash tables, as short lists: ranges are (LINE CHARACTER END-LINE
;; END-CHARACTER) as the server counts, files have no folder.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'eca-context-client)

(defun facts-get (object &rest keys)
  "Return the value of the last of KEYS, each in the value before, from OBJECT."
  (dolist (key keys object)
    (setq object (eca-context-client-get object key))))

(defun facts-range (range)
  "Return RANGE as a list of four numbers."
  (list (facts-get range :start :line) (facts-get range :start :character)
        (facts-get range :end :line) (facts-get range :end :character)))

(defun facts-list (result)
  "Return RESULT, a location or a sequence of them, as a list."
  (if (or (hash-table-p result) (keywordp (car-safe result))) (list result) (append result nil)))

(defun facts-location (location)
  "Return LOCATION, a link or not, as (FILE . RANGE)."
  (cons (file-name-nondirectory (or (facts-get location :targetUri) (facts-get location :uri)))
        (facts-range (or (facts-get location :targetSelectionRange) (facts-get location :range)))))

(defun facts-definitions (outcomes)
  "Return OUTCOMES of the definitions as a list of (ROLE FILE . RANGE)."
  (seq-mapcat (lambda (outcome)
                (should (equal (plist-get outcome :status) "ok"))
                (mapcar (lambda (location)
                          (cons (plist-get outcome :role) (facts-location location)))
                        (facts-list (plist-get outcome :raw))))
              outcomes))

(defun facts-references (outcomes)
  "Return OUTCOMES of the references as a list of (DECLARATION FILE . RANGE)."
  (should (= 1 (length outcomes)))
  (should (equal (plist-get (car outcomes) :status) "ok"))
  (let ((declarations (mapcar #'facts-location (plist-get (car outcomes) :declarations))))
    (sort (mapcar (lambda (location)
                    (let ((place (facts-location location)))
                      (cons (and (member place declarations) t) place)))
                  (facts-list (plist-get (car outcomes) :raw)))
          (lambda (a b) (< (nth 2 a) (nth 2 b))))))

(defun facts-symbols (outcomes)
  "Return OUTCOMES of the symbols, lists (NAME KIND RANGE SELECTION . CHILDREN)."
  (should (= 1 (length outcomes)))
  (should (equal (plist-get (car outcomes) :status) "ok"))
  (mapcar #'facts-symbol (plist-get (car outcomes) :raw)))

(defun facts-symbol (symbol)
  "Return SYMBOL with its children as a list."
  (append (list (facts-get symbol :name) (facts-get symbol :kind)
                (facts-range (facts-get symbol :range))
                (facts-range (facts-get symbol :selectionRange)))
          (mapcar #'facts-symbol (facts-get symbol :children))))

(defun facts-documentation (outcomes)
  "Return OUTCOMES of the documentation as a list of (ROLE TEXT)."
  (mapcar (lambda (outcome)
            (should (equal (plist-get outcome :status) "ok"))
            (let ((raw (plist-get outcome :raw)))
              (list (plist-get outcome :role)
                    (if (equal (plist-get outcome :role) "hover")
                        (facts-text (facts-get raw :contents))
                      (mapcar (lambda (signature) (facts-get signature :label))
                              (facts-get raw :signatures))))))
          outcomes))

(defun facts-text (contents)
  "Return CONTENTS of a hover as a string."
  (cond ((stringp contents) contents)
        ((or (hash-table-p contents) (keywordp (car-safe contents))) (facts-get contents :value))
        (t (mapconcat #'facts-text contents "\n"))))

(defconst facts-wide "\"𝒳👩‍👩‍👧變\""
  "A string literal with what servers count in different ways.")

;;; The golden answers, as all clients of a server must give them.

(defconst facts-golden
  `(("app.py" "import os\n\nclass Cart:\n    \"\"\"A cart.\"\"\"\n    TAX = 0.2\n
    def total(self, items):\n        return sum(items) * (1 + self.TAX)\n\n
def main():\n    c = Cart()\n    print(c.$0total([1, 2]))\n"
     (("definition" "app.py" 6 8 6 13))
     ((t "app.py" 6 8 6 13) (nil "app.py" 12 12 12 17))
     (("Cart" 5 (2 0 7 42) (2 6 2 10)
       ("TAX" 14 (4 4 4 7) (4 4 4 7))
       ("total" 6 (6 4 7 42) (6 8 6 13)
        ("items" 13 (6 20 6 25) (6 20 6 25))))
      ("main" 12 (10 0 12 26) (10 4 10 8)
       ("c" 13 (11 4 11 5) (11 4 11 5))))
     "(method) def total(items: Unknown) -> float")
    ;; CRLF, tabs, and what takes two units before the place.
    ("wide.py" ,(concat "def 變(x):\r\n\treturn x\r\n\r\nif 1:\r\n\ts = " facts-wide
                        "; $0變(2)\r\n")
     (("definition" "wide.py" 0 4 0 5))
     ((t "wide.py" 0 4 0 5) (nil "wide.py" 4 20 4 21))
     (("變" 12 (0 0 1 9) (0 4 0 5)
       ("x" 13 (0 6 0 7) (0 6 0 7)))
      ("s" 13 (4 1 4 2) (4 1 4 2)))
     "(function) def 變(x: Unknown)")
    ("app.c" "#include \"app.h\"\nint twice(int x) { return 2 * x; }\nint main(void) { return $0twice(3); }\n"
     (("definition" "app.c" 1 4 1 9))
     ((t "app.c" 1 4 1 9) (nil "app.c" 2 24 2 29))
     (("twice" 12 (1 0 1 34) (1 4 1 9))
      ("main" 12 (2 0 2 35) (2 4 2 8)))
     "Twice x.")
    ("wide.c" ,(concat "int 𝒳(int x) { return x; }\r\nint main(void) {\r\n\tconst char *s = " facts-wide
                       "; return $0𝒳(1);\r\n}\r\n")
     (("definition" "wide.c" 0 4 0 6))
     ((t "wide.c" 0 4 0 6) (nil "wide.c" 2 39 2 41))
     (("𝒳" 12 (0 0 0 27) (0 4 0 6))
      ("main" 12 (1 0 3 1) (1 4 1 8)))
     "int 𝒳(int x)")
    ("app.js" "class Cart {\n  total(items) { return items; }\n}
function main() {\n  const c = new Cart();\n  c.$0total([1, 2]);\n}\n"
     (("definition" "app.js" 1 2 1 7))
     ((t "app.js" 1 2 1 7) (nil "app.js" 5 4 5 9))
     (("Cart" 5 (0 0 2 1) (0 6 0 10)
       ("total" 6 (1 2 1 32) (1 2 1 7)))
      ("main" 12 (3 0 6 1) (3 9 3 13)
       ("c" 14 (4 8 4 22) (4 8 4 9))))
     "(method) Cart.total(items: any): any")
    ("wide.js" ,(concat "function 變(x) { return x; }\r\nfunction main() {\r\n\tconst s = " facts-wide
                        "; return $0變(s);\r\n}\r\n")
     (("definition" "wide.js" 0 9 0 10))
     ((t "wide.js" 0 9 0 10) (nil "wide.js" 2 33 2 34))
     ;; By name, as this server has them.
     (("main" 12 (1 0 3 1) (1 9 1 13)
       ("s" 14 (2 7 2 24) (2 7 2 8)))
      ("變" 12 (0 0 0 27) (0 9 0 10)))
     "function 變(x: any): any"))
  "Files, texts with `$0' where is asked, and by hand what is known there.
These are definitions, references, symbols, and a piece of the hover.")

(defun facts-write (row folder)
  "Write the file of ROW, one of `facts-golden', into FOLDER and return its name."
  (pcase-let ((file (expand-file-name (car row) folder))
              (`(,_ ,text) row))
    (with-temp-buffer
      (set-buffer-multibyte t)
      (insert text)
      (goto-char (point-min))
      (search-forward "$0")
      (delete-char -2)
      (let ((coding-system-for-write 'utf-8-unix))
        (make-directory (file-name-directory file) t)
        (write-region "/// Twice x.\nint twice(int x);\n" nil (expand-file-name "app.h" folder)
                      nil 'silent)
        (write-region nil nil file nil 'silent)))
    file))

(defun facts-go (row)
  "Go in the current buffer to where ROW, one of `facts-golden', asks."
  (let* ((text (replace-regexp-in-string "\r" "" (cadr row)))
         (at (string-match "\\$0" text)))
    (goto-char (1+ at))))

(defun facts-check (row ask)
  "Check that what is known at point is what ROW of `facts-golden' says.
ASK is called with a feature and returns outcomes."
  (pcase-let ((`(,file ,_ ,definitions ,references ,symbols ,hover) row))
    (ert-info ((format "%s" file))
      (should (equal (facts-definitions (funcall ask 'definitions)) definitions))
      (should (equal (facts-references (funcall ask 'references)) references))
      (should (equal (facts-symbols (funcall ask 'document-symbols)) symbols))
      (should (equal (facts-symbols (funcall ask 'enclosing-symbols)) symbols))
      (let ((documentation (facts-documentation (funcall ask 'documentation))))
        (should (equal (mapcar #'car documentation) '("hover" "signature")))
        (should (string-search hover (cadr (car documentation))))))))

;;;; Answers

(defconst facts-answers
  '(("app.py" ("total" 12 12 12 17)
     (("definition" "app.py" (6 8 6 13) "Cart"))
     (("app.py" (6 8 6 13) t "Cart") ("app.py" (12 12 12 17) nil "main"))
     (("Cart" "class" (2 0 7 42) (2 6 2 10)
       ("TAX" "constant" (4 4 4 7) (4 4 4 7))
       ("total" "method" (6 4 7 42) (6 8 6 13)))
      ("main" "function" (10 0 12 26) (10 4 10 8)))
     (("main" "function" (10 0 12 26) (10 4 10 8)))
     ("hover" "signature" "signature"))
    ("wide.py" ("變" 4 20 4 21)
     (("definition" "wide.py" (0 4 0 5) nil))
     (("wide.py" (0 4 0 5) t nil) ("wide.py" (4 20 4 21) nil nil))
     (("變" "function" (0 0 1 9) (0 4 0 5)) ("s" "variable" (4 1 4 2) (4 1 4 2)))
     nil
     ("hover"))
    ("app.c" ("twice" 2 24 2 29)
     (("definition" "app.c" (1 4 1 9) nil))
     (("app.c" (1 4 1 9) t nil) ("app.c" (2 24 2 29) nil "main"))
     (("twice" "function" (1 0 1 34) (1 4 1 9)) ("main" "function" (2 0 2 35) (2 4 2 8)))
     (("main" "function" (2 0 2 35) (2 4 2 8)))
     ("hover"))
    ("wide.c" ("𝒳" 2 39 2 41)
     (("definition" "wide.c" (0 4 0 6) nil))
     (("wide.c" (0 4 0 6) t nil) ("wide.c" (2 39 2 41) nil "main"))
     (("𝒳" "function" (0 0 0 27) (0 4 0 6)) ("main" "function" (1 0 3 1) (1 4 1 8)))
     (("main" "function" (1 0 3 1) (1 4 1 8)))
     ("hover"))
    ("app.js" ("total" 5 4 5 9)
     (("definition" "app.js" (1 2 1 7) "Cart"))
     (("app.js" (1 2 1 7) t "Cart") ("app.js" (5 4 5 9) nil "main"))
     (("Cart" "class" (0 0 2 1) (0 6 0 10) ("total" "method" (1 2 1 32) (1 2 1 7)))
      ("main" "function" (3 0 6 1) (3 9 3 13)))
     (("main" "function" (3 0 6 1) (3 9 3 13)))
     ("hover"))
    ("wide.js" ("變" 2 33 2 34)
     (("definition" "wide.js" (0 9 0 10) nil))
     (("wide.js" (0 9 0 10) t nil) ("wide.js" (2 33 2 34) nil "main"))
     (("變" "function" (0 0 0 27) (0 9 0 10)) ("main" "function" (1 0 3 1) (1 9 1 13)))
     (("main" "function" (1 0 3 1) (1 9 1 13)))
     ("hover")))
  "By hand, what is answered at the places of `facts-golden': the symbol, the
definitions (ROLE FILE RANGE CONTAINER), the references (FILE RANGE DECLARATION
CONTAINER), the symbols (NAME KIND RANGE SELECTION . CHILDREN), those around it,
and the roles of the documentation.")

(defconst facts-features
  ["symbolAtPosition" "definitions" "references" "documentSymbols" "enclosingSymbols"
   "documentation"]
  "What is asked.")

(defun facts-params (file row)
  "Return params that ask for all about FILE at the place of ROW of `facts-golden'."
  (let* ((before (replace-regexp-in-string "\r" "" (car (split-string (cadr row) "\\$0"))))
         (line (car (last (split-string before "\n"))))
         (units (/ (length (encode-coding-string line 'utf-16le)) 2)))
    (list :uri (concat "file://" file)
          :position (list :line (length (seq-filter (lambda (char) (eq char ?\n)) before))
                          :character units)
          :include facts-features)))

(defun facts-answer (result)
  "Return RESULT of `editor/getContext' in the form of `facts-answers'."
  (let ((file (lambda (place) (file-name-nondirectory (plist-get place :uri))))
        (range (lambda (place) (facts-range (plist-get place :range))))
        (symbol (plist-get result :symbolAtPosition)))
    (list (cons (plist-get symbol :text) (funcall range symbol))
          (mapcar (lambda (place)
                    (list (plist-get place :role) (funcall file place) (funcall range place)
                          (plist-get place :container)))
                  (plist-get result :definitions))
          (mapcar (lambda (place)
                    (list (funcall file place) (funcall range place)
                          (plist-get place :declaration) (plist-get place :container)))
                  (plist-get result :references))
          (mapcar #'facts-symbol (plist-get result :documentSymbols))
          (mapcar #'facts-symbol (plist-get result :enclosingSymbols))
          (mapcar (lambda (one) (plist-get one :role)) (plist-get result :documentation)))))

(defun facts-check-answer (row result client)
  "Check that RESULT, which CLIENT told, is what `facts-answers' says of ROW."
  (ert-info ((car row))
    (should (equal (facts-answer result) (cdr (assoc (car row) facts-answers))))
    (should-not (plist-get result :unavailable))
    (let ((provenance (plist-get result :provenance)))
      (dolist (feature (cdr (append facts-features nil)))
        (should (equal (plist-get provenance (intern (concat ":" feature)))
                       (list :kind "semantic" :providers (list client))))))))

(provide 'facts)
;;; facts.el ends here
