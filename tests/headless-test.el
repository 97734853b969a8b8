;;; headless-test.el --- Tests of servers run for the agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real pyright, typescript-language-server and clangd without any client in Emacs, and a stand-in that
;; misbehaves (tests/stub-server.py) where a real one would not.  What the client does with odd servers
;; is tested in tests/lsp.rs.

;;; Code:

(require 'cl-lib)
(require 'guest)
(require 'eca-context-headless)
(require 'eca-context-report)
(require 'eca-context-server-list)

(defconst headless-test-root
  (expand-file-name ".." (file-name-directory (or load-file-name buffer-file-name)))
  "The project's folder.")

;; run-ert.el takes them away.
(custom-reevaluate-setting 'eca-context-servers)

(setq exec-path
      (cons (expand-file-name ".test/node/node_modules/.bin" headless-test-root) exec-path))

(defconst headless-test-elsewhere (expand-file-name "lisp/" headless-test-root)
  "A folder where no test has its files.")

(defconst headless-test-app
  (with-temp-buffer
    (insert-file-contents (expand-file-name "tests/fixtures/golden/project/app.py"
                                            headless-test-root))
    (buffer-string))
  "The text of PROTOCOL's golden answer.")

(defun headless-test-wait (what done)
  "Wait for WHAT until the function DONE returns non-nil; return that."
  (let ((deadline (+ (float-time) 60))
        value)
    (while (not (setq value (funcall done)))
      (when (> (float-time) deadline)
        (error "No %s within a minute" what))
      (accept-process-output nil 0.01))
    value))

(defun headless-test-once (function path &rest request)
  "Return what FUNCTION says of PATH at point, given REQUEST's keys."
  (let* ((said 'none)
         (value (funcall function
                         (append request (list :path path :deadline (+ (float-time) 30)))
                         (lambda (outcome) (setq said outcome)))))
    (if (not (eq value :async))
        value
      (headless-test-wait "outcome" (lambda () (not (eq said 'none))))
      said)))

(defun headless-test-say (function path &rest request)
  "Return what FUNCTION says of PATH at point once the server has started.
REQUEST are keys of the request."
  (let (outcome)
    (headless-test-wait
     "server"
     (lambda ()
       (setq outcome (apply #'headless-test-once function path request))
       (not (equal (plist-get outcome :status) "starting"))))
    outcome))

(defmacro headless-test-in (folder &rest body)
  "Evaluate BODY with FOLDER bound to a new one; stop all servers then."
  (declare (indent 1) (debug (symbolp body)))
  `(guest-with-folder ,folder
     (let ((inhibit-message t))
       (should-not (eca-context-module-trouble))
       (unwind-protect (progn ,@body)
         (eca-context-headless-stop)
         (headless-test-wait "end of all servers"
                             (lambda () (null (eca-context-headless-servers))))))))

(defmacro headless-test-at (text where path &rest body)
  "Evaluate BODY in a buffer with TEXT, point after WHERE, as if it were PATH."
  (declare (indent 3) (debug (form form form body)))
  `(with-temp-buffer
     (insert ,text)
     (delay-mode-hooks
       (let ((buffer-file-name ,path)) (set-auto-mode t)))
     (goto-char (point-min))
     (search-forward ,where)
     ,@body))

(defun headless-test-places (outcome)
  "Return the places of OUTCOME as lists (FILE LINE CHARACTER), sorted."
  (let ((result (json-parse-string (plist-get outcome :rawJson) :object-type 'plist
                                   :array-type 'list :null-object nil)))
    (sort (mapcar (lambda (place)
                    (let ((start (plist-get (or (plist-get place :targetSelectionRange)
                                                (plist-get place :range))
                                            :start)))
                      (list (file-name-nondirectory
                             (or (plist-get place :targetUri) (plist-get place :uri)))
                            (plist-get start :line) (plist-get start :character))))
                  result)
          (lambda (a b) (string< (format "%S" a) (format "%S" b))))))

(defun headless-test-group (pid)
  "Return the process group of the process PID."
  (alist-get 'pgrp (process-attributes pid)))

(defun headless-test-members (group)
  "Return the live processes of GROUP, zombies aside."
  (seq-filter (lambda (process)
                (let ((about (process-attributes process)))
                  (and (eql group (alist-get 'pgrp about))
                       (not (equal (alist-get 'state about) "Z")))))
              (list-system-processes)))

;;;; Right values

(ert-deftest headless-test-pyright ()
  (headless-test-in folder
    (let* ((path (concat folder "app.py"))
           (keys (list :roots (list folder) :copy t))
           (say (lambda (function) (apply #'headless-test-say function path keys))))
      (guest-write path headless-test-app)
      (guest-write (concat folder "use.py") "from app import Cart\nCart().total([])\n")
      (headless-test-at headless-test-app "c.tot" path
        ;; The outline starts nothing.
        (should-not (funcall say #'eca-context-headless-symbols))
        (let ((found (funcall say #'eca-context-headless-definitions)))
          (should (equal (headless-test-places found) '(("app.py" 6 8))))
          (should (equal (list (plist-get found :provider) (plist-get found :kind)
                               (plist-get found :status) (plist-get found :role)
                               (plist-get found :encoding))
                         '("pyright" "semantic" "ok" "definition" nil))))
        (let ((found (funcall say #'eca-context-headless-references)))
          (should (equal (headless-test-places found)
                         '(("app.py" 12 12) ("app.py" 6 8) ("use.py" 1 7))))
          (should (string-match-p "\"line\":6" (plist-get found :declarationsJson))))
        (let ((found (funcall say #'eca-context-headless-documentation)))
          (should (equal (plist-get found :role) "hover"))
          (should (string-match-p "(method) def total(items: Unknown) -> float"
                                  (plist-get found :rawJson))))
        (should (string-match-p "\"name\":\"Cart\""
                                (plist-get (funcall say #'eca-context-headless-symbols) :rawJson)))
        (let ((found (funcall say #'eca-context-headless-diagnostics)))
          (should (equal (list (plist-get found :fresh) (plist-get found :items))
                         '(t [["" "hint" "Pyright" nil [0 7 0 9] "\"os\" is not accessed"]])))))
      (should (= (length (eca-context-headless-servers)) 1))
      ;; Where the other file is asked about, the text on disk counts, and so does one just written.
      (guest-write (concat folder "new.py") "def made(): ...\n")
      (guest-write (concat folder "use.py") "from new import made\nmade()\n")
      (headless-test-at "from new import made\nmade()\n" "\nma" (concat folder "use.py")
        (should (equal (headless-test-places
                        (apply #'headless-test-say #'eca-context-headless-definitions
                               (concat folder "use.py") keys))
                       '(("new.py" 0 4))))))))

(ert-deftest headless-test-typescript ()
  (headless-test-in folder
    (guest-write (concat folder "cart.ts")
                 "export class Cart {\n  total(items: number[]) { return items.length; }\n}\n")
    (guest-write (concat folder "tsconfig.json")
                 "{\"compilerOptions\": {\"allowJs\": true, \"jsx\": \"preserve\"}}")
    (pcase-dolist (`(,name ,line) '(("a.ts" "new Cart().total([]);")
                                    ("b.tsx" "export const x = <b>{new Cart().total([])}</b>;")
                                    ("c.js" "new Cart().total([]);")))
      (let ((path (concat folder name))
            (text (concat "import { Cart } from \"./cart\";\n" line "\n")))
        (guest-write path text)
        (headless-test-at text ").tot" path
          (should (equal (cons name (headless-test-places
                                     (headless-test-say #'eca-context-headless-definitions path
                                                        :roots (list folder) :copy t)))
                         (list name '("cart.ts" 1 2)))))))
    (should (equal (mapcar (lambda (server) (plist-get server :name))
                           (eca-context-headless-servers))
                   '("typescript-language-server")))))

(ert-deftest headless-test-unsaved-text-is-checked ()
  (headless-test-in folder
    (pcase-dolist (`(,name ,unsaved . ,item)
                   '(("a.py" "\tx = \"😀\"; bad()\n"
                      "error" "Pyright" "reportUndefinedVariable" [1 11 1 14]
                      "\"bad\" is not defined")
                     ("a.ts" "  let 𝒳: number = bad;\n"
                      "error" "typescript" "2304" [1 19 1 22] "Cannot find name 'bad'.")))
      (let* ((path (concat folder name))
             (first (if (equal name "a.py") "def f():\n" "export {};\n")))
        (guest-write path (concat first "\n"))
        (with-current-buffer (find-file-noselect path)
          (erase-buffer)
          (insert first unsaved)
          (let ((found (headless-test-say #'eca-context-headless-diagnostics path
                                          :roots (list folder))))
            (should (eq (plist-get found :fresh) t))
            (should (seq-find (lambda (one) (equal (cdr (append one nil)) item))
                              (plist-get found :items)))
            (should (buffer-modified-p))))))))

;;;; Whole answers

(defun headless-test-answer (uri position include folder)
  "Return the answer about URI at POSITION for INCLUDE, once it is there.
FOLDER is the session's."
  (let (result)
    (headless-test-wait
     "answer"
     (lambda ()
       (setq result (plist-get (guest-ask "editor/getContext"
                                          (list :uri uri :position position :include include)
                                          (list folder))
                               :result))
       (not (seq-find (lambda (entry) (plist-get entry :retry)) (plist-get result :unavailable)))))
    result))

(defun headless-test-range (item &optional key)
  "Return the range of ITEM, or that under KEY, as four numbers."
  (let ((range (plist-get item (or key :range))))
    (list (plist-get (plist-get range :start) :line) (plist-get (plist-get range :start) :character)
          (plist-get (plist-get range :end) :line) (plist-get (plist-get range :end) :character))))

(defun headless-test-symbols (symbols)
  "Return SYMBOLS as lists (NAME KIND RANGE SELECTION . CHILDREN)."
  (mapcar (lambda (symbol)
            (append (list (plist-get symbol :name) (plist-get symbol :kind)
                          (headless-test-range symbol)
                          (headless-test-range symbol :selectionRange))
                    (headless-test-symbols (plist-get symbol :children))))
          symbols))

(ert-deftest headless-test-golden ()
  (headless-test-in folder
    (let ((uri (guest-write (concat folder "app.py") headless-test-app))
          (all ["symbolAtPosition" "definitions" "references" "documentSymbols"
                "enclosingSymbols" "documentation"]))
      ;; What needs a server that runs already is asked when it does.
      (headless-test-answer uri '(:line 12 :character 13) ["definitions"] folder)
      (let ((answer (headless-test-answer uri '(:line 12 :character 13) all folder)))
        (should-not (plist-get answer :unavailable))
        (should (equal (plist-get (plist-get answer :symbolAtPosition) :text) "total"))
        (should (equal (mapcar (lambda (one)
                                 (list (plist-get one :uri) (headless-test-range one)
                                       (plist-get one :role) (plist-get one :container)
                                       (plist-get one :preview)))
                               (plist-get answer :definitions))
                       `((,uri (6 8 6 13) "definition" "Cart" "def total(self, items):"))))
        (should (equal (mapcar (lambda (one)
                                 (list (headless-test-range one) (plist-get one :declaration)
                                       (plist-get one :container)))
                               (plist-get answer :references))
                       '(((6 8 6 13) t "Cart") ((12 12 12 17) nil "main"))))
        (should (equal (headless-test-symbols (plist-get answer :documentSymbols))
                       '(("Cart" "class" (2 0 7 42) (2 6 2 10)
                          ("TAX" "constant" (4 4 4 7) (4 4 4 7))
                          ("total" "method" (6 4 7 42) (6 8 6 13)))
                         ("main" "function" (10 0 12 26) (10 4 10 8)))))
        (should (equal (mapcar (lambda (one) (plist-get one :name))
                               (plist-get answer :enclosingSymbols))
                       '("main")))
        (should (string-match-p "(method) def total(items: Unknown) -> float"
                                (plist-get (car (plist-get answer :documentation)) :value)))
        (dolist (feature '(:definitions :references :documentSymbols :documentation))
          (should (equal (plist-get (plist-get answer :provenance) feature)
                         '(:kind "semantic" :providers ("pyright"))))))
      (should (equal (mapcar (lambda (one) (plist-get one :name))
                             (plist-get (headless-test-answer uri '(:line 6 :character 9)
                                                              ["enclosingSymbols"] folder)
                                        :enclosingSymbols))
                     '("Cart" "total"))))))

;; As the manual has it: no row of ours, and what it finds comes without being asked for.
(ert-deftest headless-test-clangd-in-a-row-of-the-users ()
  (headless-test-in folder
    (let ((eca-context-servers eca-context-servers)
          (text "#include \"cart.h\"\n\nint main(void) {\n  char *s = \"😀\"; return cart_total(1);\n}\n")
          (all ["definitions" "references" "documentation" "documentSymbols"]))
      (with-temp-buffer
        (insert-file-contents (expand-file-name "docs/manual.org" headless-test-root))
        (search-forward "(add-to-list 'eca-context-servers")
        (goto-char (match-beginning 0))
        (eval (read (current-buffer)) t))
      (guest-write (concat folder "cart.h") "/** What N of them cost. */\nint cart_total(int n);\n")
      (guest-write (concat folder "cart.c")
                   "#include \"cart.h\"\n\nint cart_total(int n) {\n  return 2 * n;\n}\n")
      (guest-write (concat folder "compile_commands.json")
                   (json-serialize
                    (vconcat (mapcar (lambda (name)
                                       `((directory . ,folder) (file . ,name)
                                         (command . ,(concat "cc -c " name))))
                                     '("main.c" "cart.c")))))
      (let* ((uri (guest-write (concat folder "main.c") text))
             (answer (headless-test-answer uri '(:line 3 :character 26) all folder))
             (places (lambda (feature)
                       (mapcar (lambda (one)
                                 (cons (file-name-nondirectory (plist-get one :uri))
                                       (headless-test-range one)))
                               (plist-get answer feature)))))
        (should-not (plist-get answer :unavailable))
        (should (equal (funcall places :definitions) '(("cart.c" 2 4 2 14))))
        (should (equal (sort (funcall places :references)
                             (lambda (a b) (string< (car a) (car b))))
                       '(("cart.c" 2 4 2 14) ("cart.h" 1 4 1 14) ("main.c" 3 25 3 35))))
        (should (string-match-p "What N of them cost."
                                (plist-get (car (plist-get answer :documentation)) :value)))
        (should (equal (headless-test-symbols
                        (plist-get (headless-test-answer uri '(:line 3 :character 26)
                                                         ["documentSymbols"] folder)
                                   :documentSymbols))
                       '(("main" "function" (2 0 4 1) (2 4 2 8))))))
      ;; Unsaved.
      (with-current-buffer (find-file-noselect (concat folder "main.c"))
        (goto-char (point-min))
        (search-forward "return ")
        (insert "missing + ")
        (let ((found (headless-test-say #'eca-context-headless-diagnostics buffer-file-name
                                        :roots (list folder))))
          (should (eq (plist-get found :fresh) t))
          (should (equal (mapcar (lambda (item) (append (substring item 1 5) nil))
                                 (plist-get found :items))
                         '(("error" "clang" "undeclared_var_use" [3 25 3 32])))))))))

(ert-deftest headless-test-a-library-that-an-answer-named ()
  (headless-test-in folder
    (let* ((uri (guest-write (concat folder "a.py") "import os\nos.getcwd()\n"))
           (found (car (plist-get (headless-test-answer uri '(:line 1 :character 4)
                                                        ["definitions"] folder)
                                  :definitions)))
           (library (plist-get found :uri)))
      (should (string-suffix-p ".pyi" library))
      (let ((answer (headless-test-answer library '(:line 0 :character 0)
                                          ["documentSymbols"] folder)))
        (should (equal (plist-get (plist-get answer :provenance) :documentSymbols)
                       '(:kind "semantic" :providers ("pyright"))))
        (should (plist-get answer :documentSymbols)))
      ;; What lies beside it was not named.
      (should (equal (plist-get (car (plist-get (headless-test-answer
                                                 (concat (file-name-directory library) "path.pyi")
                                                 '(:line 0 :character 0) ["documentSymbols"] folder)
                                                :unavailable))
                                :code)
                     "outside-workspace"))
      (should (= (length (eca-context-headless-servers)) 1)))))

(ert-deftest headless-test-missing-server-in-an-answer ()
  (headless-test-in folder
    (cl-letf (((default-value 'exec-path) (list folder)))
      (let* ((uri (guest-write (concat folder "a.py") "def f():\n    pass\n"))
             (answer (headless-test-answer uri '(:line 0 :character 4)
                                           ["definitions" "documentSymbols"] folder)))
        (should (equal (plist-get answer :unavailable)
                       '((:capability "definitions" :code "install"
                          :reason "unavailable: install pyright — npm install -g pyright"))))
        (should (plist-get answer :documentSymbols))
        ;; At once, now that Emacs has loaded what it needs.
        (guest-within 0.1
          (let ((start (float-time)))
            (should (equal (headless-test-answer uri '(:line 0 :character 4)
                                                 ["definitions" "documentSymbols"] folder)
                           answer))
            (- (float-time) start)))))))

;;;; Who may be asked

(ert-deftest headless-test-missing-server ()
  (headless-test-in folder
    (let ((path (concat folder "a.py"))
          (exec-path (list folder)))
      (cl-letf (((default-value 'exec-path) (list folder)))
        (guest-write path "a\n")
        ;; What the project brings is not run.
        (guest-write (concat folder "pyright-langserver") "#!/bin/sh\ntouch ran\n")
        (set-file-modes (concat folder "pyright-langserver") #o755)
        (headless-test-at "a\n" "a" path
          (dolist (function '(eca-context-headless-definitions eca-context-headless-references
                              eca-context-headless-documentation
                              eca-context-headless-diagnostics))
            (guest-within 0.1
              (let ((start (float-time)))
                (should (equal (headless-test-once function path :roots (list folder))
                               '(:provider "pyright" :kind "semantic" :status "install" :reason
                                 "unavailable: install pyright — npm install -g pyright")))
                (- (float-time) start))))
          (should-not (headless-test-once #'eca-context-headless-symbols path
                                          :roots (list folder)))))
      (should-not (eca-context-headless-servers)))))

(ert-deftest headless-test-missing-typescript ()
  (headless-test-in folder
    (let ((path (concat folder "project/a.ts"))
          (bin (concat folder "bin/")))
      (guest-write path "a\n")
      (guest-write (concat bin "typescript-language-server") "")
      (set-file-modes (concat bin "typescript-language-server") #o755)
      ;; The project's own is not trusted.
      (guest-write (concat folder "project/node_modules/typescript/lib/tsserver.js") "")
      (cl-letf (((default-value 'exec-path) (list bin)))
        (headless-test-at "a\n" "a" path
          (should (equal (plist-get (headless-test-once #'eca-context-headless-definitions path
                                                        :roots (list (concat folder "project/")))
                                    :reason)
                         "unavailable: install typescript — npm install -g typescript"))))
      (guest-write (concat folder "lib/node_modules/typescript/lib/tsserver.js") "")
      (guest-write (concat folder "lib/node_modules/typescript-language-server/cli.mjs") "")
      (delete-file (concat bin "typescript-language-server"))
      (make-symbolic-link "../lib/node_modules/typescript-language-server/cli.mjs"
                          (concat bin "typescript-language-server"))
      (should (equal (plist-get (plist-get (eca-context-servers-tsserver
                                            (concat bin "typescript-language-server")
                                            (concat folder "project/"))
                                           :tsserver)
                                :path)
                     (concat folder "lib/node_modules/typescript/lib/tsserver.js"))))))

(ert-deftest headless-test-not-allowed ()
  (headless-test-in folder
    (let ((path (concat folder "a.py")))
      (guest-write path "a\n")
      (headless-test-at "a\n" "a" path
        (pcase-dolist (`(,allowed ,roots ,reason)
                       `((nil (,folder) "`eca-context-headless-roots' names no folder")
                         (session (,headless-test-elsewhere)
                                  "it lies in no folder of `eca-context-headless-roots'")
                         ((,headless-test-elsewhere) (,folder)
                          "it lies in no folder of `eca-context-headless-roots'")))
          (let ((eca-context-headless-roots allowed))
            (should (equal (headless-test-once #'eca-context-headless-definitions path
                                               :roots roots)
                           (list :provider "pyright" :kind "semantic" :status "disabled"
                                 :reason (concat "no language server is run for a.py: " reason))))
            (should-not (headless-test-once #'eca-context-headless-symbols path :roots roots))))
        ;; Without a session there is nobody to run one for.
        (should-not (headless-test-once #'eca-context-headless-definitions path)))
      (should-not (eca-context-headless-servers)))))

(ert-deftest headless-test-a-folder-by-whatever-name ()
  (headless-test-in folder
    (make-directory (concat folder "work/sub") t)
    (make-symbolic-link (concat folder "work") (concat folder "link"))
    (let ((row (assq 'pyright eca-context-servers))
          (process-environment (cons (concat "HOME=" folder) process-environment))
          (default-directory temporary-file-directory))
      (pcase-dolist (`(,roots ,root)
                     '((("~/work") "work") (("~/work/" "~/work/sub/") "work/sub") (("~/link/") "work")
                       (("~/other/") nil) (("work/") nil)))
        ;; Whether the file is there yet or not.
        (dolist (name '("work/sub/a.py" "link/sub/a.py"))
          (should (equal (car (eca-context-headless--place row (concat folder name) roots))
                         (and root (concat (file-truename folder) root)))))
        (guest-write (concat folder "work/sub/a.py") "a\n")
        (should (equal (car (eca-context-headless--place row (concat folder "link/sub/a.py") roots))
                       (and root (concat (file-truename folder) root))))
        (delete-file (concat folder "work/sub/a.py"))))))

(ert-deftest headless-test-unknown-language ()
  (headless-test-in folder
    (let ((path (concat folder "a.xyz")))
      (guest-write path "a\n")
      (headless-test-at "a\n" "a" path
        (should (equal (headless-test-once #'eca-context-headless-definitions path
                                           :roots (list folder))
                       '(:provider "" :kind "unknown" :status "no-provider"
                         :reason "no language server is known for a.xyz; known: Python, \
TypeScript and JavaScript (`eca-context-servers')")))
        (should-not (headless-test-once #'eca-context-headless-symbols path
                                        :roots (list folder)))))))

(ert-deftest headless-test-rows-by-name-and-mode ()
  (pcase-dolist (`(,name ,text ,row ,language)
                 '(("a.py" "" pyright "python") ("a.pyi" "" pyright "python")
                   ("script" "#!/usr/bin/env python3\n" pyright "python")
                   ("a.mts" "" typescript-language-server "typescript")
                   ("a.tsx" "" typescript-language-server "typescriptreact")
                   ("a.cjs" "" typescript-language-server "javascript")
                   ("a.jsx" "" typescript-language-server "javascriptreact")
                   ("a.el" "" nil nil) ("apy" "" nil nil)))
    (with-temp-buffer
      (insert text)
      (let ((buffer-file-name (concat "/no/such/" name)))
        (delay-mode-hooks (set-auto-mode t))
        (let ((found (eca-context-servers-find buffer-file-name)))
          (should (equal (list name (caar found) (cdr found)) (list name row language))))))))

(defun headless-test-stub (how)
  "Return a table with the stand-in that misbehaves as HOW."
  `((stub :title "Stub" :languages (("\\.py\\'" . "python"))
          :command ("python3" ,(expand-file-name "tests/stub-server.py" headless-test-root) ,how)
          :install "install stub" :roots ("marker") :settle 0)))

(ert-deftest headless-test-the-editors-own-comes-first ()
  (headless-test-in folder
    (let ((path (concat folder "a.py"))
          (eca-context-servers (headless-test-stub "plain")))
      (guest-write path "a\n")
      (headless-test-at "a\n" "a" path
        (should (equal (plist-get (headless-test-say #'eca-context-headless-definitions path
                                                     :roots (list folder))
                                  :status)
                       "ok"))
        (should (= (length (eca-context-headless-servers)) 1))
        (cl-letf (((symbol-function 'eca-context-eglot-serves-p)
                   (lambda (file) (equal file path))))
          (should-not (headless-test-once #'eca-context-headless-definitions path
                                          :roots (list folder))))
        ;; The one that is not needed any more goes.
        (headless-test-wait "end of it" (lambda () (null (eca-context-headless-servers))))
        (cl-letf (((symbol-function 'eca-context-lsp-mode-serves-p)
                   (lambda (file same-language-p)
                     (and (equal file path)
                          (funcall same-language-p "/other/b.py")
                          (not (funcall same-language-p "/other/b.ts"))))))
          (should-not (headless-test-once #'eca-context-headless-definitions path
                                          :roots (list folder))))
        (should-not (eca-context-headless-servers))))))

;; What was asked about before, or never, counts as the user has it.
(ert-deftest headless-test-unsaved-text-of-other-buffers ()
  (headless-test-in folder
    (let ((path (concat folder "use.py"))
          (text "from lib import made\nmade()\n"))
      (guest-write path text)
      (guest-write (concat folder "lib.py") "old = 1\n")
      (guest-write (concat folder "other.el") "old\n")
      (let ((buffers (mapcar (lambda (name) (find-file-noselect (concat folder name)))
                             '("lib.py" "other.el")))
            (ask (lambda ()
                   (headless-test-at text "\nmade" path
                     (headless-test-say #'eca-context-headless-definitions path
                                        :roots (list folder))))))
        (unwind-protect
            (progn
              (dolist (buffer buffers)
                (with-current-buffer buffer
                  (goto-char (point-max))
                  (insert "def made(): ...\n")
                  (narrow-to-region (point) (point))))
              (should (equal (headless-test-places (funcall ask)) '(("lib.py" 1 4))))
              (with-current-buffer (car buffers)
                (widen)
                (goto-char (point-min))
                (insert "\n"))
              (should (equal (headless-test-places (funcall ask)) '(("lib.py" 2 4))))
              (guest-write (concat folder "lib.py") "def made(): ...\n")
              (with-current-buffer (car buffers) (set-buffer-modified-p nil))
              (should (equal (headless-test-places (funcall ask)) '(("lib.py" 0 4)))))
          (dolist (buffer buffers)
            (with-current-buffer buffer (set-buffer-modified-p nil))
            (kill-buffer buffer)))))))

;; As `exec-path-from-shell' has it: the environment that Emacs itself was started with knows nothing of
;; the folder that holds both the server and what runs it.
(ert-deftest headless-test-inherits-what-emacs-passes-on ()
  (guest-with-folder tools
    (headless-test-in folder
      (let* ((path (concat folder "a.py"))
             (bin (concat tools "bin/"))
             (exec-path (cons bin exec-path))
             (process-environment (cons (concat "PATH=" bin ":" (getenv "PATH"))
                                        process-environment))
             (eca-context-servers (headless-test-stub "plain")))
        (setf (plist-get (cdar eca-context-servers) :command) '("stub-server"))
        (pcase-dolist (`(,name . ,text)
                       `(("stub-server" . "#!/usr/bin/env stub-runner\n")
                         ("stub-runner" . ,(format "#!/bin/sh\nexec python3 %s plain\n"
                                                   (expand-file-name "tests/stub-server.py"
                                                                     headless-test-root)))))
          (guest-write (concat bin name) text)
          (set-file-modes (concat bin name) #o755))
        (guest-write path "a\n")
        (headless-test-at "a\n" "a" path
          (should (equal (plist-get (headless-test-say #'eca-context-headless-definitions path
                                                       :roots (list folder))
                                    :status)
                         "ok")))))))

(ert-deftest headless-test-everything-starts-nothing ()
  (headless-test-in folder
    (let ((path (concat folder "a.py"))
          (eca-context-servers (headless-test-stub "pulls")))
      (guest-write path "a = 1\n")
      (headless-test-at "a = 1\n" "a" path
        (let ((ask (lambda (&rest keys)
                     (apply #'headless-test-say #'eca-context-headless-diagnostics path
                            :roots (list folder) keys))))
          (should-not (funcall ask :everywhere t))
          (should (equal (plist-get (funcall ask) :items)
                         [["" "error" "stub" nil [0 4 0 4] "a = 1\n"]]))
          (should (plist-get (funcall ask :everywhere t) :items)))))))

(ert-deftest headless-test-root-is-the-nearest-marker ()
  (headless-test-in folder
    (let ((eca-context-servers (headless-test-stub "plain")))
      (dolist (name '("marker" "work/x" "work/inner/marker" "work/inner/deep/a.py" "work/b.py"))
        (guest-write (concat folder name) "a\n"))
      (pcase-dolist (`(,name . ,root) '(("work/inner/deep/a.py" . "work/inner") ("work/b.py" . "work")))
        (let ((path (concat folder name)))
          (headless-test-at "a\n" "a" path
            (headless-test-say #'eca-context-headless-definitions path
                               :roots (list folder (concat folder "work/"))))
          (should (equal (plist-get (car (last (eca-context-headless-servers))) :root)
                         (concat folder root)))))
      ;; A session that is over takes its servers along.
      (eca-context-headless-keep (list (concat folder "work/inner/")))
      (headless-test-wait "end of the other"
                          (lambda () (= (length (eca-context-headless-servers)) 1)))
      (should (equal (plist-get (car (eca-context-headless-servers)) :root)
                     (concat folder "work/inner"))))))

(ert-deftest headless-test-wrapped ()
  (headless-test-in folder
    (let ((path (concat folder "a.py"))
          (eca-context-servers (headless-test-stub "plain"))
          (seen nil))
      (guest-write path "a\n")
      (headless-test-at "a\n" "a" path
        (let ((eca-context-server-wrapper-function
               (lambda (command roots)
                 (setq seen (list (file-name-nondirectory (car command))
                                  (file-name-absolute-p (car command)) roots))
                 (append '("env" "WRAPPED=1") command))))
          (should (equal (plist-get (headless-test-say #'eca-context-headless-definitions path
                                                       :roots (list folder))
                                    :status)
                         "ok"))
          (should (equal seen (list "python3" t (list (directory-file-name folder)))))))
      (eca-context-headless-stop)
      (headless-test-at "a\n" "a" path
        (let ((eca-context-server-wrapper-function (lambda (command _) (cons "no-such" command))))
          (should-error (headless-test-once #'eca-context-headless-definitions path
                                            :roots (list folder))))))))

;;;; A guest

(ert-deftest headless-test-nobody-notices ()
  (headless-test-in folder
    (let* ((path (concat folder "app.py"))
           (uri (guest-write path headless-test-app))
           (ask (lambda (asker)
                  (funcall asker "editor/getDiagnostics" (list :uri uri) (list folder)))))
      (with-current-buffer (find-file-noselect path)
        (buffer-enable-undo)
        (headless-test-wait
         "server" (lambda () (plist-get (plist-get (funcall ask #'guest-ask) :result) :fresh)))
        (goto-char (point-max))
        (insert "x")
        (let ((answer (funcall ask #'guest-check)))
          (should (plist-get answer :fresh))
          (should (seq-find (lambda (one) (equal (plist-get one :message) "\"x\" is not defined"))
                            (plist-get answer :diagnostics)))))))
  (should (seq-every-p (lambda (process)
                         (and (string-prefix-p " " (process-name process))
                              (not (process-query-on-exit-flag process))))
                       (process-list))))

(ert-deftest headless-test-nothing-is-left-of-a-killed-emacs ()
  (guest-with-folder folder
    (guest-write (concat folder "a.py") "a\n")
    (let* ((script (concat folder "script.el"))
           (out (generate-new-buffer " *headless-test*"))
           (emacs (expand-file-name invocation-name invocation-directory))
           (process nil))
      (guest-write
       script
       (format "%S"
               `(progn
                  (setq load-path ',load-path)
                  (require 'eca-context-headless)
                  (eca-context-module-trouble)
                  (setq eca-context-servers ',(headless-test-stub "clings"))
                  (with-temp-buffer
                    (eca-context-headless-definitions
                     (list :path ,(concat folder "a.py") :roots '(,folder)
                           :deadline (+ (float-time) 60))
                     (lambda (outcome)
                       (princ (format "%s %d\n" (plist-get outcome :status)
                                      (plist-get (car (eca-context-headless-servers)) :pid))))))
                  (while t (accept-process-output nil 1)))))
      (unwind-protect
          (let (group)
            (setq process (make-process :name "headless-test" :buffer out :noquery t
                                        :command (list emacs "-Q" "--batch" "-l" script)
                                        :sentinel #'ignore))
            (with-current-buffer out
              (headless-test-wait "server of the other Emacs"
                                  (lambda () (string-match-p "\n" (buffer-string))))
              (should (string-match "\\`ok \\([0-9]+\\)" (buffer-string)))
              (setq group (headless-test-group
                           (string-to-number (match-string 1 (buffer-string))))))
            ;; The shell that is the server, its child, and the watchman.
            (should (= (length (headless-test-members group)) 3))
            (let ((start (float-time)))
              (signal-process process 'SIGKILL)
              (headless-test-wait "end of the server"
                                  (lambda () (null (headless-test-members group))))
              (should (< (- (float-time) start) 5))))
        (delete-process process)
        (kill-buffer out)))))

;;;; For people

(ert-deftest headless-test-list-and-stop ()
  (headless-test-in folder
    (let ((path (concat folder "a.py"))
          (eca-context-servers (headless-test-stub "plain")))
      (guest-write path "a\n")
      (headless-test-at "a\n" "a" path
        (headless-test-say #'eca-context-headless-definitions path :roots (list folder)))
      (let* ((pid (plist-get (car (eca-context-headless-servers)) :pid))
             (group (headless-test-group pid)))
        (should (headless-test-members group))
        (save-window-excursion
          (eca-context-list-servers)
          (unwind-protect
              (with-current-buffer "*eca-context servers*"
                (goto-char (point-min))
                (should (looking-at (format "stub +ready +%d +[0-9.]+M +1 +.*%s" pid
                                            (regexp-quote (directory-file-name folder)))))
                (call-interactively (key-binding "k"))
                (headless-test-wait "end of it" (lambda () (null (eca-context-headless-servers))))
                (revert-buffer)
                (should (= (buffer-size) 0))
                (should-error (call-interactively #'eca-context-server-list-stop)))
            (kill-buffer "*eca-context servers*")))
        (should-not (headless-test-members group))
        (headless-test-at "a\n" "a" path
          (headless-test-say #'eca-context-headless-definitions path :roots (list folder)))
        (eca-context-stop-servers)
        (should-not (eca-context-headless-servers))))))

(ert-deftest headless-test-a-crash-is-told ()
  (headless-test-in folder
    (let ((path (concat folder "a.py"))
          (eca-context-servers (headless-test-stub "crash-init")))
      (guest-write path "a\n")
      (headless-test-at "a\n" "a" path
        (let ((outcome (headless-test-once #'eca-context-headless-definitions path
                                           :roots (list folder))))
          (should (equal (plist-get outcome :status) "error"))
          (should (equal (plist-get outcome :reason)
                         "stub crashed: exited with status 7 | cannot find my brain"))))
      (should (equal (plist-get (car (eca-context-headless-servers)) :state) "crashed"))
      (save-window-excursion
        (with-temp-buffer (eca-context-doctor))
        (with-current-buffer "*eca-context-doctor*"
          (goto-char (point-min))
          (should (re-search-forward "^server +stub, crashed, pid [0-9]+, 1 questions, 0 of" nil t))
          (should (re-search-forward "^ +cannot find my brain$" nil t)))
        (kill-buffer "*eca-context-doctor*")))))

(provide 'headless-test)
;;; headless-test.el ends here
