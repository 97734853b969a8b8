;;; eglot-test.el --- Diagnostics of real servers through eglot  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real eglot with clangd, pyright and typescript-language-server.  What a server cannot be brought
;; to say is put into its mouth: `eglot-test-publish' hands eglot a notification.

;; Run-ert: slow, it waits for language servers.

;;; Code:

(require 'cl-lib)
(require 'eglot-user)

(declare-function eglot-current-server "ext:eglot" t t)
(declare-function eglot-handle-notification "ext:eglot" t t)
(declare-function eglot-managed-p "ext:eglot" t t)
(declare-function eglot--project "ext:eglot" t t)
(declare-function eglot--signal-textDocument/didChange "ext:eglot" t t)
(declare-function eglot--maybe-activate-editing-mode "ext:eglot" t t)
(declare-function jsonrpc--process "ext:jsonrpc" t t)
(defvar eglot--versioned-identifier)
(defvar eglot-server-programs)
(defvar eglot-sync-connect)

(defun eglot-test-ask (&optional seconds)
  "Return the provider's outcome for the current buffer within SECONDS (20)."
  (let* ((said nil)
         (now (eca-context-eglot-diagnostics
               (list :path buffer-file-name :deadline (+ (float-time) (or seconds 20)))
               (lambda (outcome) (push outcome said)))))
    (if (not (eq now :async))
        now
      (eglot-test-until (+ 2 (or seconds 20)) said)
      (should (= 1 (length said)))
      (car said))))

(defun eglot-test-brief (outcome)
  "Return OUTCOME's freshness and its items, sorted.
These are severity, source, code, range, and the message's first line."
  (should (equal (plist-get outcome :status) "ok"))
  (should-not (plist-get outcome :exact))
  (cons (plist-get outcome :fresh)
        (sort (mapcar (lambda (item)
                        (list (aref item 1) (aref item 2) (aref item 3) (append (aref item 4) nil)
                              (car (split-string (aref item 5) "\n"))))
                      (plist-get outcome :items))
              (lambda (a b) (string< (format "%S" (nth 3 a)) (format "%S" (nth 3 b)))))))

(defun eglot-test-ranges (outcome)
  "Return OUTCOME's freshness and the ranges of its items."
  (cons (plist-get outcome :fresh)
        (mapcar (lambda (item) (nth 3 item)) (cdr (eglot-test-brief outcome)))))

(defun eglot-test-publish (server file version &rest diagnostics)
  "Let SERVER say DIAGNOSTICS of FILE in VERSION or nil.
Each is ([LINE CHARACTER END-LINE END-CHARACTER] MESSAGE . REST)."
  (apply #'eglot-handle-notification server 'textDocument/publishDiagnostics
         :uri (eca-context-eglot--uri file)
         :diagnostics
         (apply #'vector
                (mapcar (pcase-lambda (`([,sl ,sc ,el ,ec] ,message . ,rest))
                          (append (list :range (list :start (list :line sl :character sc)
                                                     :end (list :line el :character ec))
                                        :message message)
                                  rest))
                        diagnostics))
         (and version (list :version version))))

;;;; What is used of eglot

(ert-deftest eglot-test-names ()
  (should-not (eca-context-eglot-missing))
  (dolist (name '(eglot-handle-notification eglot--signal-textDocument/didOpen
                  eglot--signal-textDocument/didChange))
    (should (fboundp name))))

(ert-deftest eglot-test-watch-and-unwatch ()
  (let ((before (guest-functions)))
    (eca-context-eglot-watch)
    (eca-context-eglot-watch)
    (should (advice-member-p 'eca-context-eglot--notified 'eglot-handle-notification))
    (eca-context-eglot-unwatch)
    (should-not (guest-only before (guest-functions)))))

;;;; Right values

(defconst eglot-test-values
  '(;; Tabs, and what takes two UTF-16 units, before the place.
    ("a.c" "int f(void) {\n\tconst char *s = \"😀\"; return bad;\n}\n"
     ("error" "clang" "undeclared_var_use" (1 30 1 33) "Use of undeclared identifier 'bad'"))
    ("b.c" "int f(void) { const char *s = \"變數\"; return bad; }\r\nint g(void) { return bad; }\r\n"
     ("error" "clang" "undeclared_var_use" (0 43 0 46) "Use of undeclared identifier 'bad'")
     ("error" "clang" "undeclared_var_use" (1 21 1 24) "Use of undeclared identifier 'bad'"))
    ;; C08: this clangd marks what stands after the place.
    ("c.c" "int f() {\n  return 1\n}\n"
     ("error" "clang" "expected_semi_after_stmt" (2 0 2 1)
      "Expected ';' after return statement (fix available)"))
    ;; C09: on an empty line.
    ("d.c" "void f() {\n\n"
     ("info" "clangd" nil (0 9 0 10) "To match this '{'")
     ("error" "clang" "expected" (2 0 2 0) "Expected '}'"))
    ("e.c" "int f(void) { return 0; }\nint f(void) { return 1; }\n"
     ("info" "clangd" nil (0 4 0 5) "Previous definition is here")
     ("error" "clang" "redefinition" (1 4 1 5) "Redefinition of 'f'"))
    ("clean.c" "int f(void) { return 0; }\n")
    ("a.py" "def f():\n\tx = \"😀\"; return undefined_name\n\n"
     ("hint" "Pyright" nil (1 1 1 2) "\"x\" is not accessed")
     ("error" "Pyright" "reportUndefinedVariable" (1 18 1 32) "\"undefined_name\" is not defined"))
    ("b.py" "變數 = 1; undefined_name\r\nimport os\r\nx: int = \"a\"\r\n"
     ("error" "Pyright" "reportUndefinedVariable" (0 8 0 22) "\"undefined_name\" is not defined")
     ("warning" "Pyright" "reportUnusedExpression" (0 8 0 22) "Expression value is unused")
     ("hint" "Pyright" nil (1 7 1 9) "\"os\" is not accessed")
     ("error" "Pyright" "reportAssignmentType" (2 9 2 12)
      "Type \"Literal['a']\" is not assignable to declared type \"int\""))
    ("clean.py" "x = 1\n")
    ("a.js" "// @ts-check\n\tlet s = \"😀\"; bad;\n"
     ("error" "typescript" "2304" (1 15 1 18) "Cannot find name 'bad'.")))
  "File, text, and what its server says of it.")

(ert-deftest eglot-test-right-values ()
  (eglot-test-in folder
    (pcase-dolist (`(,file ,text . ,values) eglot-test-values)
      (with-current-buffer (eglot-test-visit file text)
        (ert-info ((format "%s" file))
          (should (equal (eglot-test-brief (eglot-test-ask)) (cons t values)))
          ;; Known, so at once.
          (should-not (eq :async (eca-context-eglot-diagnostics
                                  (list :path buffer-file-name :deadline (+ 9 (float-time)))
                                  #'error))))))))

(ert-deftest eglot-test-c08-c09-own-ranges-and-payload ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int f() {\n  return 1\n}\n")
      (eglot-test-ask)
      (eglot-test-publish (eglot-current-server) buffer-file-name eglot--versioned-identifier
                          '([1 10 1 10] "missing ;" :severity 1 :code 7)
                          '([3 0 3 0] "at the end" :severity 4 :code "hint" :source "tool")
                          '([1 25 9 2] "beyond" :severity 3 :code :json-false)
                          '([0 0 0 3] "note"))
      (should (equal (eglot-test-brief (eglot-test-ask))
                     '(t ("error" "clangd" nil (0 0 0 3) "note")
                         ("error" "clangd" "7" (1 10 1 10) "missing ;")
                         ("info" "clangd" nil (1 25 9 2) "beyond")
                         ("hint" "tool" "hint" (3 0 3 0) "at the end"))))
      ;; All through the module: clamped, each once, fresh.
      (let ((result (guest-check "editor/getDiagnostics" (list :uri (guest-uri buffer-file-name)))))
        (should (eq t (plist-get result :fresh)))
        (should (equal (mapcar (lambda (one)
                                 (let ((range (plist-get one :range)))
                                   (mapcar (lambda (key)
                                             (plist-get (plist-get range (car key)) (cdr key)))
                                           '((:start . :line) (:start . :character)
                                             (:end . :line) (:end . :character)))))
                               (plist-get result :diagnostics))
                       '((0 0 0 3) (1 10 1 10) (1 10 3 0) (3 0 3 0))))))))

;;;; Freshness

(defmacro eglot-test-each-server (&rest body)
  "Evaluate BODY in a project of each server, in a buffer with one problem.
That is on the second line, and the text is not flushed."
  (declare (indent 0) (debug (body)))
  `(pcase-dolist (`(,file ,text) '(("a.c" "// first\nint x = bad;\n")
                                   ("a.py" "# first\nx = bad\n")
                                   ("a.js" "// @ts-check\nlet x = bad;\n")))
     (ert-info ((format "%s" file))
       (eglot-test-in folder
         (with-current-buffer (eglot-test-visit file text)
           ,@body)))))

(defun eglot-test-lines (outcome)
  "Return OUTCOME's freshness and the lines of its items."
  (cons (plist-get outcome :fresh) (mapcar #'car (cdr (eglot-test-ranges outcome)))))

(ert-deftest eglot-test-after-an-edit ()
  (eglot-test-each-server
    (should (equal (eglot-test-lines (eglot-test-ask)) '(t 1)))
    (goto-char (point-max))
    (insert "\n\n")
    (goto-char (line-beginning-position 0))
    (insert (pcase major-mode
              ('c-mode "int y = bad;")
              ('js-mode "let y = bad;")
              (_ "y = bad")))
    (should (equal (eglot-test-lines (eglot-test-ask)) '(t 1 3)))
    (should (equal (eglot-test-lines (eglot-test-ask)) '(t 1 3)))
    (delete-region (line-beginning-position) (line-end-position))
    (goto-char (point-min))
    (insert "\n")
    (should (equal (eglot-test-lines (eglot-test-ask)) '(t 2)))))

(ert-deftest eglot-test-after-an-edit-that-is-undone ()
  (eglot-test-each-server
    (should (equal (eglot-test-lines (eglot-test-ask)) '(t 1)))
    (dolist (is-flushed '(nil t))
      (goto-char (point-min))
      (insert "\n")
      (when is-flushed
        (eglot--signal-textDocument/didChange))
      (delete-char -1)
      (should (equal (eglot-test-lines (eglot-test-ask)) '(t 1))))))

(ert-deftest eglot-test-c32-moved-while-stale ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "// first\nint x = bad;\n// third\nint y = bad;\n")
      (eglot-test-ask)
      (flymake-start)
      (should (equal (eglot-test-ranges (eglot-test-ask)) '(t (1 8 1 11) (3 8 3 11))))
      ;; The server does nothing now.
      (eglot-test-freeze (jsonrpc--process (eglot-current-server)))
      (unwind-protect
          (progn
            (goto-char (point-min))
            (insert "/* 😀 */\n")
            (search-forward "int x")
            (insert "yz")
            (should (equal (eglot-test-ranges (eglot-test-ask 0.3))
                           '(:json-false (2 10 2 13) (4 8 4 11))))
            ;; What was deleted is not told of any more.
            (delete-region (line-beginning-position) (line-beginning-position 2))
            (should (equal (eglot-test-ranges (eglot-test-ask 0.3)) '(:json-false (3 8 3 11))))
            (let ((answer (plist-get (guest-ask "editor/getDiagnostics"
                                                (list :uri (guest-uri buffer-file-name)) nil 0.3)
                                     :result)))
              (should (= 1 (length (plist-get answer :diagnostics))))
              (should-not (plist-get answer :fresh))))
        (eglot-test-thaw (jsonrpc--process (eglot-current-server))))
      (should (equal (eglot-test-ranges (eglot-test-ask)) '(t (3 8 3 11)))))))

(ert-deftest eglot-test-without-flymake-nothing-is-lost ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int x = bad;\n")
      (flymake-mode -1)
      (should (equal (eglot-test-ranges (eglot-test-ask)) '(t (0 8 0 11))))
      (eglot-test-freeze (jsonrpc--process (eglot-current-server)))
      (goto-char (point-max))
      (insert "\n")
      (should (equal (eglot-test-ranges (eglot-test-ask 0.2)) '(:json-false (0 8 0 11))))
      (goto-char (point-min))
      (insert "// 😀\n\n")
      (search-forward "x")
      (insert "yz")
      (narrow-to-region (point-max) (point-max))
      (should (equal (eglot-test-ranges (eglot-test-ask 0.2)) '(:json-false (2 10 2 13))))
      (widen)
      (goto-char (point-min))
      (search-forward "bad")
      (delete-region (match-beginning 0) (match-end 0))
      (should (equal (eglot-test-ranges (eglot-test-ask 0.2)) '(:json-false)))
      (eglot-test-thaw (jsonrpc--process (eglot-current-server))))))

(ert-deftest eglot-test-a-publish-of-an-older-text-is-not-fresh ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
      (let ((server (eglot-current-server)))
        (should (equal (eglot-test-lines (eglot-test-ask)) '(t)))
        (eglot-test-freeze (jsonrpc--process server))
        (insert "\n")
        (eglot-test-publish server buffer-file-name eglot--versioned-identifier
                            '([0 0 0 3] "not flushed"))
        (should (equal (eglot-test-lines (eglot-test-ask 0.1)) '(:json-false 0)))
        (eglot-test-publish server buffer-file-name (1- eglot--versioned-identifier)
                            '([0 0 0 3] "older"))
        (should (equal (eglot-test-lines (eglot-test-ask 0.1)) '(:json-false 0)))
        ;; A server that names versions says nothing of a text where it does not.
        (eglot-test-publish server buffer-file-name nil)
        (should (equal (eglot-test-lines (eglot-test-ask 0.1)) '(:json-false)))
        (eglot-test-publish server buffer-file-name eglot--versioned-identifier
                            '([1 0 1 3] "now"))
        (should (equal (eglot-test-lines (eglot-test-ask 0.1)) '(t 1)))
        (eglot-test-thaw (jsonrpc--process server))))))

(ert-deftest eglot-test-without-versions-the-answer-counts ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.js" "// @ts-check\nlet x = bad;\n")
      (let ((server (eglot-current-server)))
        (should (equal (eglot-test-lines (eglot-test-ask)) '(t 1)))
        (eglot-test-freeze (jsonrpc--process server))
        (insert "\n")
        (eglot--signal-textDocument/didChange)
        (eglot-test-publish server buffer-file-name nil '([0 0 0 1] "older"))
        (should (equal (eglot-test-lines (eglot-test-ask 0.1)) '(:json-false 0)))
        (eglot-test-thaw (jsonrpc--process server))
        (should (equal (eglot-test-lines (eglot-test-ask)) '(t 2)))))))

(ert-deftest eglot-test-nothing-was-ever-said ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
      (let ((server (eglot-current-server))
            (eca-context-eglot--patience 0.3))
        (eglot-test-ask)
        (eglot-test-freeze (jsonrpc--process server))
        (clrhash eca-context-eglot--records)
        (let ((start (float-time)))
          (should (equal (eglot-test-lines (eglot-test-ask)) '(:json-false)))
          (should (< 0.25 (- (float-time) start) 2)))
        ;; Not waited for again, until the text is another.
        (should-not (eq :async (eca-context-eglot-diagnostics
                                (list :path buffer-file-name :deadline (+ 9 (float-time)))
                                #'ignore)))
        (insert "\n")
        (should (eq :async (eca-context-eglot-diagnostics
                            (list :path buffer-file-name :deadline (float-time)) #'ignore)))
        (eglot-test-thaw (jsonrpc--process server))))))

(ert-deftest eglot-test-a-server-that-is-asked ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
      (let ((server (eglot-current-server))
            (n-asked 0))
        (eglot-test-ask)
        (clrhash eca-context-eglot--records)
        (cl-letf* (((symbol-function 'eca-context-eglot--capability)
                    (lambda (_ name) (and (eq name :diagnosticProvider) '(:identifier "id"))))
                   (ask (symbol-function 'jsonrpc-async-request))
                   ((symbol-function 'jsonrpc-async-request)
                    (lambda (server method params &rest keys)
                      (if (not (eq method :textDocument/diagnostic))
                          (apply ask server method params keys)
                        (should (equal (plist-get params :identifier) "id"))
                        (if (= 1 (cl-incf n-asked))
                            (funcall (plist-get keys :error-fn) '(:code -32802 :message "again"))
                          (funcall (plist-get keys :success-fn)
                                   (list :kind "full"
                                         :items (vector (list :range '(:start (:line 0 :character 4)
                                                                       :end (:line 0 :character 5))
                                                              :message "asked")))))))))
          (should (equal (eglot-test-ranges (eglot-test-ask)) '(t (0 4 0 5))))
          (should (= n-asked 2)))
        (should (eq server (eglot-current-server)))))))

(ert-deftest eglot-test-the-first-of-two-publishes-is-no-clean-file ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.js" "// @ts-check\nlet x = bad;\n")
      (let ((server (eglot-current-server))
            (asked nil)
            (said nil))
        (should (equal (eglot-test-lines (eglot-test-ask)) '(t 1)))
        (cl-letf (((symbol-function 'eca-context-eglot--touch)
                   (lambda (_server _uri done) (push done asked))))
          (eglot-test-publish server buffer-file-name nil)
          (should (eq :async (eca-context-eglot-diagnostics
                              (list :path buffer-file-name :deadline (+ 20 (float-time)))
                              (lambda (outcome) (push outcome said)))))
          ;; It has checked the types, and has yet to publish that.
          (funcall (pop asked))
          (should (eglot-test-until 30 asked))
          (should-not said)
          (eglot-test-publish server buffer-file-name nil '([1 8 1 11] "bad"))
          (dotimes (_ 2)
            (should-not said)
            (should (eglot-test-until 30 asked))
            (while asked (funcall (pop asked))))
          (should (eglot-test-until 30 said))
          (should (equal (eglot-test-lines (car said)) '(t 1))))))))

;;;; Servers that start and die

(ert-deftest eglot-test-starting ()
  (eglot-test-in folder
    (guest-write (expand-file-name "a.c" folder) "int x = bad;\n")
    (with-current-buffer (find-file-noselect (expand-file-name "a.c" folder))
      (should-not (eglot-test-ask))
      (let ((eglot-sync-connect nil)
            ;; One that hears everything and answers nothing.
            (eglot-server-programs '((c-mode . ("sh" "-c" "cat >/dev/null")))))
        (eglot-test-connect)
        (let ((eca-context-eglot--patience 0.2))
          (should (equal (plist-get (eglot-test-ask) :status) "starting"))))
      (mapc #'eglot-test-kill (eglot-test-processes))
      (should-not (eca-context-eglot--starting-p))
      (should-not (eglot-test-ask))
      (let ((eglot-sync-connect nil))
        (eglot-test-connect)
        (should-not (eglot-managed-p))
        (should (equal (eglot-test-ranges (eglot-test-ask)) '(t (0 8 0 11))))))))

(ert-deftest eglot-test-killed ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
      (let ((process (jsonrpc--process (eglot-current-server)))
            (start (float-time))
            said)
        (eglot-test-ask)
        (eglot-test-freeze process)
        (insert "\n")
        (should (eq :async (eca-context-eglot-diagnostics
                            (list :path buffer-file-name :deadline (+ 30 (float-time)))
                            (lambda (outcome) (push outcome said)))))
        (signal-process process 'SIGKILL)
        (should (eglot-test-until 30 said))
        (should (< (- (float-time) start) 6))
        (should (equal (plist-get (car said) :status) "error"))
        (should-not (eglot-test-ask))))))

(ert-deftest eglot-test-killed-buffer ()
  (eglot-test-in folder
    (let (said)
      (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
        (insert "\n")
        (should (eq :async (eca-context-eglot-diagnostics
                            (list :path buffer-file-name :deadline (+ 30 (float-time)))
                            (lambda (outcome) (push outcome said)))))
        (set-buffer-modified-p nil)
        (kill-buffer))
      (should (eglot-test-until 30 said))
      (should (equal (plist-get (car said) :status) "error")))))

;;;; Which buffer, which server

(ert-deftest eglot-test-c30-lsp-mode-merely-installed ()
  (eglot-test-in folder
    (with-temp-buffer
      (should-not (eca-context-eglot-diagnostics '(:path "/f") #'error)))
    (should (require 'lsp-mode nil t))
    (with-current-buffer (eglot-test-visit "a.c" "int x = bad;\n")
      (flymake-start)
      (eglot-test-ask)
      (let* ((eca-context-diagnostics-functions
              (default-toplevel-value 'eca-context-diagnostics-functions))
             (result (guest-check "editor/getDiagnostics"
                                  (list :uri (guest-uri buffer-file-name)))))
        (should (memq #'eca-context-lsp-mode-diagnostics eca-context-diagnostics-functions))
        (should (eq t (plist-get result :fresh)))
        (should-not (plist-get result :unavailable))
        (should (= 1 (length (plist-get result :diagnostics))))
        (should (equal (plist-get (car (plist-get result :diagnostics)) :code)
                       "undeclared_var_use"))))))

(ert-deftest eglot-test-two-projects-and-a-symlink ()
  (eglot-test-in folder
    (let* ((find (lambda (dir)
                   (and (string-match (concat "\\`" (regexp-quote folder) "[^/]+/") dir)
                        (cons 'transient (match-string 0 dir)))))
           (project-find-functions (list find)))
      (make-directory (expand-file-name "one/sub" folder) t)
      (make-directory (expand-file-name "two" folder) t)
      (make-symbolic-link (expand-file-name "one" folder) (expand-file-name "link" folder))
      (let ((one (eglot-test-visit "one/a.c" "int x = bad;\n"))
            (two (eglot-test-visit "two/a.c" "int yy = bad;\n"))
            (three (eglot-test-visit "one/sub/a.c" "int zzz = bad;\n"))
            (linked (eglot-test-visit "link/b.c" "int uuuu = bad;\n")))
        (pcase-dolist (`(,buffer ,character) `((,one 8) (,two 9) (,three 10) (,linked 11)))
          (with-current-buffer buffer
            (should (equal (eglot-test-ranges (eglot-test-ask))
                           (list t (list 0 character 0 (+ 3 character)))))
            (should (equal (aref (car (plist-get (eglot-test-ask) :items)) 0)
                           buffer-file-name))))
        ;; Nobody visits these.
        (pcase-dolist (`(,file ,root) '(("one/n.c" "one/") ("two/n.c" "two/") ("link/m.c" nil)))
          (guest-write (expand-file-name file folder) "int x = bad;\n")
          (let ((server (car (eca-context-eglot--server-of (expand-file-name file folder)))))
            (should server)
            (when root
              (should (equal (project-root (eglot--project server))
                             (expand-file-name root folder))))))
        (should-not (eca-context-eglot--server-of (expand-file-name "n.c" folder)))
        (should-not (eca-context-eglot--server-of (expand-file-name "one/n.py" folder)))))))

;;;; Files nobody visits

(defun eglot-test-of-file (file &optional seconds)
  "Return the outcome about FILE, which nobody visits, within SECONDS (20)."
  (let (said)
    (when (eca-context-eglot-diagnostics-of-file
           file (lambda (outcome) (push outcome said)) (+ (float-time) (or seconds 20)))
      (should-not said)
      (eglot-test-until (+ 2 (or seconds 20)) said)
      (should (= 1 (length said)))
      (car said))))

(ert-deftest eglot-test-c44-nobody-visits ()
  (eglot-test-each-server
    (let* ((text (replace-regexp-in-string "x" "other" text t))
           (other (expand-file-name (concat "other." (file-name-extension file)) folder))
           (listed (list other 'before))
           (buffers nil))
      (eglot-test-ask)
      (guest-write other (replace-regexp-in-string "\\`.*\n" "\\&\\&\r\n" text))
      (should (equal (eglot-test-lines (eglot-test-of-file other)) '(t 3)))
      (should (equal (aref (car (plist-get (eglot-test-of-file other) :items)) 0) other))
      (should-not eca-context-eglot--opens)
      (setq buffers (buffer-list))
      (should (eglot-test-until 30 (null (gethash (eglot-current-server)
                                                 eca-context-eglot--closed))))
      (setq flymake-list-only-diagnostics (list listed))
      (guest-write other text)
      (should (equal (eglot-test-lines (eglot-test-of-file other)) '(t 1)))
      ;; The echo of the close has come by the answer to what was asked after it.
      (should (eglot-test-until 30 (null (gethash (eglot-current-server)
                                                 eca-context-eglot--closed))))
      (should (equal flymake-list-only-diagnostics (list listed)))
      (should (equal buffers (buffer-list)))
      (should-not (find-buffer-visiting other))
      (setq flymake-list-only-diagnostics nil)
      ;; Of a clean file the empty list counts.
      (guest-write other (substring text 0 (1+ (string-match "\n" text))))
      (should (equal (eglot-test-lines (eglot-test-of-file other)) '(t))))))

(ert-deftest eglot-test-c44-through-the-door ()
  (eglot-test-in folder
    (let* ((broken (guest-write (expand-file-name "broken.py" folder) "def f(:\n\tpass\n"))
           (eca-context-diagnostics-functions
            (default-toplevel-value 'eca-context-diagnostics-functions))
           (messages (lambda (&optional seconds)
                       (let ((result (plist-get (guest-ask "editor/getDiagnostics"
                                                           (list :uri broken) (list folder) seconds)
                                                :result)))
                         (cons (if (plist-member result :fresh) (plist-get result :fresh) 'unknown)
                               (mapcar (lambda (found) (plist-get found :message))
                                       (plist-get result :diagnostics)))))))
      ;; Nobody runs.
      (should (equal (funcall messages)
                     '(unknown "not checked: the file is not open, and no checker for it is running")))
      (with-current-buffer (eglot-test-visit "clean.py" "x = 1\n")
        (eglot-test-ask)
        (let ((said (funcall messages)))
          (should (eq (car said) t))
          (should (cdr said))
          (should-not (seq-some (lambda (message) (string-prefix-p "not checked" message))
                                (cdr said))))
        (should (eglot-test-until 30 (null (gethash (eglot-current-server)
                                                   eca-context-eglot--closed))))
        ;; The server does nothing now.
        (eglot-test-freeze (jsonrpc--process (eglot-current-server)))
        (unwind-protect
            (should (equal (funcall messages 0.5)
                           '(unknown "not checked: eglot: the language server did not speak of it in time")))
          (eglot-test-thaw (jsonrpc--process (eglot-current-server))))))))

(ert-deftest eglot-test-nobody-visits-and-nobody-notices ()
  (eglot-test-each-server
    (let ((other (expand-file-name (concat "other." (file-name-extension file)) folder))
          (server (eglot-current-server))
          before timers)
      (eglot-test-ask)
      (guest-write other (replace-regexp-in-string "x" "other" text t))
      (with-temp-buffer
        (dotimes (_ 2)
          (setq before (guest-snapshot)
                timers (copy-sequence timer-list))
          (should (equal (eglot-test-lines (eglot-test-of-file other)) '(t 1)))
          (should (eglot-test-until 30 (null (gethash server eca-context-eglot--closed))))
          ;; jsonrpc takes each message in a timer, and keeps no match data, whoever asked; eglot's own
          ;; timers may run out meanwhile.
          (should (eglot-test-until 30 (null (seq-difference timer-list timers #'eq)))))
        (should-not (seq-remove (lambda (one) (memq (car one) '(:match-data :timers)))
                                (guest-difference before (guest-snapshot))))))))

(ert-deftest eglot-test-nobody-visits-and-no-server ()
  (eglot-test-in folder
    (let ((file (expand-file-name "b.py" folder)))
      (guest-write file "x = bad\n")
      (should-not (eglot-test-of-file file))
      (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
        (should-not (eglot-test-of-file file))
        (should-not (eglot-test-of-file buffer-file-name))
        (should-not (eglot-test-of-file (expand-file-name "nowhere.c" folder)))))))

(ert-deftest eglot-test-several-askers-share-one-open ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
      (eglot-test-ask)
      (let ((file (expand-file-name "b.c" folder))
            (sent nil)
            (said nil))
        (guest-write file "int x = bad;\n")
        (let ((note (lambda (_ method &rest _) (push method sent))))
          (advice-add 'jsonrpc-notify :before note)
          (unwind-protect
              (progn
                (dotimes (_ 3)
                  (with-temp-buffer
                    ;; These buffers die at once; there is an outcome all the same.
                    (should (eca-context-eglot-diagnostics-of-file
                             file (lambda (outcome) (push outcome said)) (+ 20 (float-time))))))
                (should (eca-context-eglot-diagnostics-of-file
                         file (lambda (outcome) (push outcome said)) (+ 20 (float-time))))
                (should (eglot-test-until 20 (= 4 (length said))))
                (should (equal (eglot-test-ranges (car said)) '(t (0 8 0 11))))
                (should (equal sent '(:textDocument/didClose :textDocument/didOpen))))
            (advice-remove 'jsonrpc-notify note)))))))

(ert-deftest eglot-test-the-user-visits-it-meanwhile ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
      (eglot-test-ask)
      (let* ((file (expand-file-name "b.c" folder))
             (process (jsonrpc--process (eglot-current-server)))
             (sent nil)
             (said nil)
             (note (lambda (_ method &rest _) (push method sent))))
        (guest-write file "int x = bad;\n")
        (eglot-test-freeze process)
        (should (eca-context-eglot-diagnostics-of-file
                 file (lambda (outcome) (push outcome said)) (+ 20 (float-time))))
        (advice-add 'jsonrpc-notify :before note)
        (unwind-protect
            (with-current-buffer (find-file-noselect file)
              (eglot--maybe-activate-editing-mode)
              (should (eglot-managed-p))
              (should (equal (seq-remove (lambda (method)
                                           (eq method :workspace/didChangeConfiguration))
                                         sent)
                             '(:textDocument/didOpen :textDocument/didClose)))
              (should (eglot-test-until 30 said))
              (should (equal (plist-get (car said) :status) "busy"))
              (eglot-test-thaw process)
              (should (equal (eglot-test-ranges (eglot-test-ask)) '(t (0 8 0 11)))))
          (advice-remove 'jsonrpc-notify note)
          (eglot-test-thaw process))))))

(ert-deftest eglot-test-the-server-dies-over-a-file-nobody-visits ()
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "a.c" "int x;\n")
      (eglot-test-ask)
      (let ((file (expand-file-name "b.c" folder))
            (process (jsonrpc--process (eglot-current-server)))
            (said nil))
        (guest-write file "int x = bad;\n")
        (eglot-test-freeze process)
        (should (eca-context-eglot-diagnostics-of-file
                 file (lambda (outcome) (push outcome said)) (+ 20 (float-time))))
        (signal-process process 'SIGKILL)
        (should (eglot-test-until 30 said))
        (should (equal (plist-get (car said) :status) "error"))
        (should-not eca-context-eglot--opens)))))

(provide 'eglot-test)
;;; eglot-test.el ends here
