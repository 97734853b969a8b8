;;; golden-test.el --- Whole answers where no language server runs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Every feature of one position, by hand: for Emacs Lisp, for a tags table, for a mode with imenu, for
;; one with tree-sitter; and nothing of the user's is changed by asking.

;;; Code:

(require 'cl-lib)
(require 'etags)
(require 'guest)
(require 'python)

(defconst golden-test-all
  ["symbolAtPosition" "definitions" "references" "documentSymbols" "enclosingSymbols"
   "documentation" "workspace"]
  "All features.")

(defun golden-test-range (range)
  "Return RANGE of an answer as (LINE CHARACTER END-LINE END-CHARACTER), or nil."
  (and range
       (list (plist-get (plist-get range :start) :line)
             (plist-get (plist-get range :start) :character)
             (plist-get (plist-get range :end) :line)
             (plist-get (plist-get range :end) :character))))

(defun golden-test-symbols (symbols)
  "Return SYMBOLS as lists of name, kind, both ranges, and those below."
  (mapcar (lambda (symbol)
            (append (list (plist-get symbol :name) (plist-get symbol :kind)
                          (golden-test-range (plist-get symbol :range))
                          (golden-test-range (plist-get symbol :selectionRange)))
                    (golden-test-symbols (plist-get symbol :children))))
          symbols))

(defun golden-test-places (folder places &rest keys)
  "Return PLACES as lists of file in FOLDER, range, preview, and what KEYS hold."
  (mapcar (lambda (place)
            (append (list (string-remove-prefix (guest-uri folder) (plist-get place :uri))
                          (golden-test-range (plist-get place :range))
                          (plist-get place :preview))
                    (mapcar (lambda (key) (plist-get place key)) keys)))
          places))

(defun golden-test-answer (folder name line character)
  "Return all that is answered of LINE and CHARACTER in the file NAME of FOLDER.
It is an alist of features; provenances are conses of kind and providers."
  (let* ((result (guest-check "editor/getContext"
                              (list :uri (guest-uri (concat folder name))
                                    :position (list :line line :character character)
                                    :include golden-test-all)
                              (list folder)))
         (symbol (plist-get result :symbolAtPosition))
         (workspace (plist-get result :workspace)))
    (list (list 'symbol (plist-get symbol :text) (golden-test-range (plist-get symbol :range))
                (plist-get symbol :context) (plist-get symbol :preview))
          (cons 'definitions (golden-test-places folder (plist-get result :definitions) :role))
          (cons 'references
                (golden-test-places folder (plist-get result :references) :declaration))
          (cons 'symbols (golden-test-symbols (plist-get result :documentSymbols)))
          (cons 'enclosing (golden-test-symbols (plist-get result :enclosingSymbols)))
          (cons 'documentation
                (mapcar (lambda (piece)
                          (list (plist-get piece :role) (plist-get piece :kind)
                                (plist-get piece :value)))
                        (plist-get result :documentation)))
          (list 'workspace
                (mapcar (lambda (root) (plist-get root :name)) (plist-get workspace :roots))
                (file-name-nondirectory (plist-get workspace :currentFile))
                (length (plist-get workspace :openFiles)))
          (cons 'provenance
                (cl-loop for (key value) on (plist-get result :provenance) by #'cddr
                         collect (cons (intern (substring (symbol-name key) 1))
                                       (cons (plist-get value :kind)
                                             (plist-get value :providers)))))
          (cons 'unavailable
                (mapcar (lambda (entry) (list (plist-get entry :capability)
                                              (plist-get entry :code)))
                        (plist-get result :unavailable))))))

(defun golden-test-check (folder name line character wanted)
  "Check that what is answered is WANTED.
FOLDER, NAME, LINE and CHARACTER are those of `golden-test-answer'."
  (let ((answer (golden-test-answer folder name line character)))
    (dolist (feature wanted)
      (should (equal feature (assq (car feature) answer))))
    (should (equal (mapcar #'car wanted) (mapcar #'car answer)))))

(defun golden-test-folder (folder &rest files)
  "Write FILES, names and texts, into FOLDER, a project, and open the first."
  (make-directory (concat folder ".git") t)
  (let ((first (car files)))
    (while files
      (guest-write (concat folder (pop files)) (pop files)))
    (switch-to-buffer (find-file-noselect (concat folder first)))))

(defmacro golden-test-in (folder &rest body)
  "Evaluate BODY in a new FOLDER, a symbol, and leave its buffers' windows."
  (declare (indent 1) (debug (symbolp body)))
  `(guest-with-folder ,folder
     (unwind-protect (progn ,@body)
       (switch-to-buffer "*scratch*"))))

;;;; Emacs Lisp

(ert-deftest golden-test-emacs-lisp ()
  (golden-test-in folder
    (let ((name (file-name-nondirectory (directory-file-name folder)))
          (load-path (cons folder load-path))
          (inhibit-message t))
      (golden-test-folder
       folder
       "user.el" "(require 'golden-cart)\n\n(defun golden-user (x)\n  \"😀\" (golden-total x))\n"
       "golden-cart.el" ";;; -*- lexical-binding: t -*-\n(defun golden-total (items)\n  \"Sum up ITEMS.\"\n  (apply #'+ items))\n(provide 'golden-cart)\n")
      (load (concat folder "golden-cart.el") nil t t)
      (golden-test-check
       folder "user.el" 3 10
       `((symbol "golden-total" (3 8 3 20) "code" "\"😀\" (golden-total x))")
         (definitions ("golden-cart.el" (1 7 1 19) "(defun golden-total (items)" "definition"))
         (references ("user.el" (3 8 3 20) "\"😀\" (golden-total x))" nil)
                     ("golden-cart.el" (1 7 1 19) "(defun golden-total (items)" t))
         (symbols ("golden-user" "function" nil (2 7 2 18)))
         (enclosing ("golden-user" "function" (2 0 3 24) (2 7 2 18)))
         (documentation ("signature" "plaintext" "(golden-total ITEMS)")
                        ("docstring" "plaintext" "Sum up ITEMS."))
         (workspace (,name) "user.el" 1)
         (provenance (definitions "semantic" "xref elisp") (documentSymbols "textual" "imenu")
                     (documentation "semantic" "elisp") (enclosingSymbols "textual" "emacs-lisp")
                     (references "textual" "xref elisp")
                     (symbolAtPosition "textual" "thing-at-point")
                     (workspace "semantic" "emacs"))
         (unavailable))))))

;;;; A tags table

(ert-deftest golden-test-tags ()
  (golden-test-in folder
    (let ((name (file-name-nondirectory (directory-file-name folder)))
          (tags-table-list nil)
          (tags-file-name (concat folder "TAGS")))
      (golden-test-folder
       folder
       "main.c" "#include \"cart.h\"\n\nint main(void) {\n\treturn /* 𝒳 */ total(1);\n}\n"
       "cart.c" "/* A cart. */\nint total(int n)\n{\n\treturn n;\n}\n"
       "TAGS" "\f\ncart.c,30\nint total(\177total\0012,14\n")
      (golden-test-check
       folder "main.c" 3 18
       `((symbol "total" (3 17 3 22) "code" "return /* 𝒳 */ total(1);")
         (definitions ("cart.c" (1 4 1 9) "int total(int n)" "definition"))
         (references ("main.c" (3 17 3 22) "return /* 𝒳 */ total(1);" nil)
                     ("cart.c" (1 4 1 9) "int total(int n)" nil))
         (symbols ("main" nil nil (2 4 2 8)))
         (enclosing ("main" "function" (2 0 4 1) (2 4 2 8)))
         (documentation)
         (workspace (,name) "main.c" 1)
         (provenance (definitions "textual" "xref etags") (documentSymbols "textual" "imenu")
                     (enclosingSymbols "textual" "c") (references "textual" "xref etags")
                     (symbolAtPosition "textual" "thing-at-point")
                     (workspace "semantic" "emacs"))
         (unavailable ("documentation" "no-provider")))))))

;;;; imenu and tree-sitter: the golden answer of the protocol

(defconst golden-test-app
  "import os

class Cart:
    \"\"\"A cart.\"\"\"
    TAX = 0.2

    def total(self, items):
        return sum(items) * (1 + self.TAX)


def main():
    c = Cart()
    print(c.total([1, 2]))
"
  "The file that the protocol's golden answer is about.")

(defun golden-test-app (providers)
  "Check what is answered of the protocol's example; PROVIDERS name who answers."
  (golden-test-in folder
    (let ((name (file-name-nondirectory (directory-file-name folder)))
          (tags-table-list nil)
          (tags-file-name nil)
          (inhibit-message t))
      (golden-test-folder folder "app.py" golden-test-app)
      (golden-test-check
       folder "app.py" 12 13
       `((symbol "total" (12 12 12 17) "code" "print(c.total([1, 2]))")
         (definitions)
         (references ("app.py" (6 8 6 13) "def total(self, items):" nil)
                     ("app.py" (12 12 12 17) "print(c.total([1, 2]))" nil))
         (symbols ("Cart" "class" nil (2 6 2 10) ("total" "method" nil (6 8 6 13)))
                  ("main" "function" nil (10 4 10 8)))
         (enclosing ("main" "function" (10 0 12 26) (10 4 10 8)))
         (documentation)
         (workspace (,name) "app.py" 1)
         (provenance (documentSymbols "textual" "imenu")
                     (enclosingSymbols "textual" ,providers) (references "textual" "xref etags")
                     (symbolAtPosition "textual" "thing-at-point")
                     (workspace "semantic" "emacs"))
         (unavailable ("definitions" "no-provider") ("documentation" "no-provider"))))
      (should (equal (assq 'enclosing (golden-test-answer folder "app.py" 6 9))
                     '(enclosing ("Cart" "class" (2 0 7 42) (2 6 2 10))
                                 ("total" "method" (6 4 7 42) (6 8 6 13))))))))

(ert-deftest golden-test-imenu ()
  (golden-test-app "python"))

(declare-function treesit-available-p "ext:treesit" () t)
(defvar treesit-extra-load-path)
(when (and (fboundp 'treesit-available-p) (treesit-available-p))
  (ert-deftest golden-test-tree-sitter ()
    (let ((treesit-extra-load-path
           (list (expand-file-name "../.test/tree-sitter"
                                   (file-name-directory (locate-library "guest")))))
          (auto-mode-alist (cons (cons "\\.py\\'" (intern "python-ts-mode")) auto-mode-alist)))
      (golden-test-app "treesit"))))

;;;; What the field reported

(ert-deftest golden-test-c24-references-in-many-files ()
  (golden-test-in folder
    (let ((tags-table-list nil)
          (tags-file-name nil)
          (inhibit-message t))
      (golden-test-folder folder "app.py" "def total(x):\n    return total(x)\n")
      (dotimes (n 300)
        (guest-write (format "%spkg/f%03d.py" folder n) "x = total(1)\n"))
      (let* ((ask (lambda (method params)
                    (plist-get (guest-ask method params (list folder)) :result)))
             (uri (guest-uri (concat folder "app.py")))
             (params (list :uri uri :position '(:line 0 :character 5) :include ["references"]))
             (buffers (progn (funcall ask "editor/getContext" params) (buffer-list)))
             (result (funcall ask "editor/getContext" params))
             (places (golden-test-places folder (plist-get result :references))))
        (should (equal (seq-take places 3)
                       '(("app.py" (0 4 0 9) "def total(x):") ("app.py" (1 11 1 16) "return total(x)")
                         ("pkg/f000.py" (0 4 0 9) "x = total(1)"))))
        (should (equal (plist-get (plist-get result :truncated) :references)
                       '(:returned 100 :total 302)))
        (should (equal (length places) 100))
        (let ((older (funcall ask "editor/getReferences"
                              (list :uri uri :position '(:line 1 :character 6)))))
          (should (equal (plist-get older :status) "success"))
          (should (= (length (plist-get older :locations)) 302)))
        (should (equal (length (buffer-list)) (length buffers)))))))

(ert-deftest golden-test-c21-a-lone-file ()
  (golden-test-in folder
    (let ((tags-table-list nil)
          (tags-file-name nil)
          (uri (guest-write (concat folder "lone.el") "(car x)\n")))
      (dolist (is-visited '(nil t))
        (when is-visited
          (find-file-noselect (concat folder "lone.el")))
        (let ((result (guest-check "editor/getContext"
                                   (list :uri uri :position '(:line 0 :character 2)
                                         :include ["definitions" "references" "documentation"])
                                   (list folder))))
          (should (equal (mapcar (lambda (entry) (list (plist-get entry :capability)
                                                       (plist-get entry :code)
                                                       (plist-get entry :reason)))
                                 (plist-get result :unavailable))
                         '(("definitions" "error"
                            "xref elisp: The source of car is not on this machine")
                           ("references" "would-prompt"
                            "xref elisp: it wanted to ask the user, for the file is in no project"))))
          (should (equal (plist-get (car (plist-get result :documentation)) :value)
                         "(car LIST)")))))))

(provide 'golden-test)
;;; golden-test.el ends here
