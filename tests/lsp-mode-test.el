;;; lsp-mode-test.el --- Tests of lsp-mode as a source  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real lsp-mode with the real pyright and clangd; what they say is written down by hand.

;; Run-ert: slow, it waits for language servers.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'lsp-mode-user)

(declare-function lsp-register-client "ext:lsp-mode" t t)
(declare-function lsp-stdio-connection "ext:lsp-mode" t t)
(declare-function lsp-workspace-folders-add "ext:lsp-mode" t t)
(declare-function lsp-workspaces "ext:lsp-mode" t t)
(declare-function lsp--on-diagnostics "ext:lsp-mode" t t)
(declare-function lsp--session-workspaces "ext:lsp-mode" t t)
(declare-function lsp--workspace-diagnostics "ext:lsp-mode" t t)
(declare-function lsp--workspace-proc "ext:lsp-mode" t t)
(declare-function lsp--workspace-status "ext:lsp-mode" t t)
(declare-function flycheck-buffer "ext:flycheck" () t)
(declare-function make-lsp-client "ext:lsp-mode" t t)
(declare-function make-lsp-session "ext:lsp-mode" t t)
(defvar lsp--session)
(defvar lsp-diagnostics-provider)

(defun lsp-mode-test-outcome (buffer &optional seconds)
  "Return what is said about BUFFER within SECONDS (20)."
  (let* ((result 'none)
         (deadline (+ (float-time) (or seconds 20)))
         (path (buffer-file-name buffer)))
    (eca-context-job-run
     (list (eca-context-job-chain :key :said :functions '(eca-context-lsp-mode-diagnostics)
                                  :buffer buffer :request (list :path path)))
     deadline (lambda (said) (setq result (plist-get said :said))))
    (lsp-mode-test-wait (lambda () (not (eq result 'none))) "outcome")
    (should (<= (length result) 1))
    (car result)))

(defun lsp-mode-test-fresh (buffer)
  "Return what is said about BUFFER once it is fresh."
  (lsp-mode-test-wait (lambda ()
                        (let ((outcome (lsp-mode-test-outcome buffer)))
                          (and (eq (plist-get outcome :fresh) t) outcome)))
                      "fresh outcome"))

(defun lsp-mode-test-rows (outcome)
  "Return the items of OUTCOME as lists, by place: range, severity, code, message.
Of the message only the first line."
  (sort (mapcar (lambda (item)
                  (list (append (aref item 4) nil) (aref item 1) (aref item 2) (aref item 3)
                        (car (split-string (aref item 5) "\n"))))
                (plist-get outcome :items))
        (lambda (a b) (string< (format "%S" a) (format "%S" b)))))

;;;; Names

(ert-deftest lsp-mode-test-names-exist ()
  (should-not (eca-context-lsp-mode-missing))
  (should (memq #'lsp--on-diagnostics
                (hash-table-values (symbol-value 'lsp--default-notification-handlers))))
  (should (fboundp 'lsp-diagnostics--flymake-backend))
  (should (boundp 'lsp-before-open-hook)))

(ert-deftest lsp-mode-test-watching-leaves-no-trace ()
  (let ((handler (symbol-function 'lsp--on-diagnostics)))
    (eca-context-lsp-mode-watch)
    (should-not (eq handler (symbol-function 'lsp--on-diagnostics)))
    (eca-context-lsp-mode-unwatch)
    (should (eq handler (symbol-function 'lsp--on-diagnostics)))))

;;;; What servers say, by hand

(defconst lsp-mode-test-said
  `(("a.py" "import os\n\ndef f():\n\tx = \"😀\"; bad()\n變數 = bad\ny: int = \"s\"\nreveal_type(1)\n"
     ((0 7 0 9) "hint" "Pyright" nil "\"os\" is not accessed")
     ((3 1 3 2) "hint" "Pyright" nil "\"x\" is not accessed")
     ((3 11 3 14) "error" "Pyright" "reportUndefinedVariable" "\"bad\" is not defined")
     ((4 5 4 8) "error" "Pyright" "reportUndefinedVariable" "\"bad\" is not defined")
     ((5 9 5 12) "error" "Pyright" "reportAssignmentType"
      "Type \"Literal['s']\" is not assignable to declared type \"int\"")
     ((6 12 6 13) "info" "Pyright" nil "Type of \"1\" is \"Literal[1]\""))
    ("crlf.py" ,(encode-coding-string "a = 1\r\nb = bad\r\n\r\n" 'utf-8-unix)
     ((1 4 1 7) "error" "Pyright" "reportUndefinedVariable" "\"bad\" is not defined"))
    ("empty.py" "def f():\n\n"
     ((2 0 2 0) "error" "Pyright" nil "Expected indented block"))
    ("clean.py" "a = 1\n")
    ("c08.c" "int f() {\n  return 1\n}\n"
     ((2 0 2 1) "error" "clang" "expected_semi_after_stmt"
      "Expected ';' after return statement (fix available)"))
    ("empty.c" "int f(void) {\n\n"
     ((2 0 2 0) "error" "clang" "expected" "Expected '}'"))
    ("wide.c" "void g(void);\nvoid g(int);\n\n/* 變😀 */ int 𠮷 = bad;\n\tint k = \"😀\" + bad2;\n"
     ((1 5 1 6) "error" "clang" "conflicting_types" "Conflicting types for 'g'")
     ((3 19 3 22) "error" "clang" "undeclared_var_use" "Use of undeclared identifier 'bad'")
     ((4 16 4 20) "error" "clang" "undeclared_var_use" "Use of undeclared identifier 'bad2'"))
    ("crlf.c" ,(encode-coding-string "int f(int x) {\r\n\treturn y;\r\n}\r\n" 'utf-8-unix)
     ((1 8 1 9) "error" "clang" "undeclared_var_use" "Use of undeclared identifier 'y'"))
    ("clean.c" "int a;\n"))
  "Files, their texts, and what the servers say of them.")

(ert-deftest lsp-mode-test-right-values ()
  (lsp-mode-test-in folder
    (pcase-dolist (`(,name ,text . ,rows) lsp-mode-test-said)
      (let* ((buffer (lsp-mode-test-visit (expand-file-name name folder) text))
             ;; The first word of a server that has just come to life may take long.
             (outcome (lsp-mode-test-fresh buffer)))
        (should (equal (list name (plist-get outcome :status) (plist-get outcome :fresh))
                       (list name "ok" t)))
        (should (equal (plist-get outcome :provider) "lsp-mode"))
        (should (equal (cons name (lsp-mode-test-rows outcome)) (cons name rows)))))))

(ert-deftest lsp-mode-test-hash-tables-and-plists ()
  (let* ((text "{\"severity\":4,\"code\":7,\"source\":\"s\",\"message\":\"m\",
                 \"range\":{\"start\":{\"line\":1,\"character\":2},\"end\":{\"line\":3,\"character\":99}}}")
         (bare "{\"range\":{\"start\":{\"line\":1,\"character\":2},\"end\":{\"line\":1,\"character\":2}}}"))
    (dolist (type '(hash-table plist))
      (should (equal (eca-context-lsp-mode--items
                      (list (json-parse-string text :object-type type)
                            (json-parse-string bare :object-type type)
                            (json-parse-string "{\"message\":\"no range\"}" :object-type type) nil)
                      "/f")
                     (list (vector "/f" "hint" "s" "7" [1 2 3 99] "m")
                           (vector "/f" "error" nil nil [1 2 1 2] "")))))))

(defun lsp-mode-test-publish (workspace file version &rest diagnostics)
  "Let lsp-mode hear from WORKSPACE about FILE with VERSION or nil DIAGNOSTICS.
Each is (LINE CHARACTER END-LINE END-CHARACTER MESSAGE)."
  (let ((params (json-parse-string
                 (json-encode
                  (append (list :uri (guest-uri file)
                                :diagnostics (vconcat (mapcar #'lsp-mode-test-raw diagnostics)))
                          (and version (list :version version)))))))
    ;; Its hooks stumble over what lies past the end, as they do in a process filter.
    (condition-case nil
        (lsp--on-diagnostics workspace params)
      (end-of-buffer nil))))

(defun lsp-mode-test-raw (diagnostic)
  "Return DIAGNOSTIC, as for `lsp-mode-test-publish', as a server would send it."
  (pcase-let ((`(,sl ,sc ,el ,ec ,message) diagnostic))
    (list :message message :severity 1
          :range (list :start (list :line sl :character sc)
                       :end (list :line el :character ec)))))

(ert-deftest lsp-mode-test-c08-without-extent ()
  (lsp-mode-test-in folder
    (let* ((file (expand-file-name "a.c" folder))
           (buffer (lsp-mode-test-visit file "int f() {\n  return 1\n}\n")))
      (lsp-mode-test-fresh buffer)
      (with-current-buffer buffer
        (lsp-mode-test-publish (car (lsp-workspaces)) file 0 '(1 10 1 10 "missing ;")
                               '(1 50 1 60 "past the end")))
      (should (equal (mapcar #'car (lsp-mode-test-rows (lsp-mode-test-outcome buffer)))
                     '((1 10 1 10) (1 50 1 60))))
      (should (equal (mapcar (lambda (found) (plist-get (plist-get found :range) :start))
                             (plist-get (guest-check "editor/getDiagnostics"
                                                     (list :uri (guest-uri file)) (list folder))
                                        :diagnostics))
                     '((:line 1 :character 10) (:line 1 :character 10)))))))

;;;; Fresh

(ert-deftest lsp-mode-test-not-mine ()
  (with-temp-buffer
    (should-not (eca-context-lsp-mode-diagnostics '(:path "/f") #'ignore))
    (setq buffer-file-name "/nowhere/f")
    (should-not (eca-context-lsp-mode-diagnostics '(:path "/f") #'ignore))
    (setq buffer-file-name nil)))

(ert-deftest lsp-mode-test-after-an-edit ()
  (pcase-dolist (`(,name ,text ,more ,row ,rows)
                 '(("a.py" "a = 1\n" "b = bad\n" (1 4 1 7) nil)
                   ("a.c" "int a;\n" "int b = bad;\n" (1 8 1 11) nil)))
    (lsp-mode-test-in folder
      (let ((buffer (lsp-mode-test-visit (expand-file-name name folder) text))
            (spoke nil))
        (should (equal (lsp-mode-test-rows (lsp-mode-test-fresh buffer)) rows))
        (with-current-buffer buffer
          (goto-char (point-max))
          (insert more))
        (let* ((note (lambda (&rest _) (setq spoke (float-time))))
               (start (float-time))
               (outcome (unwind-protect
                            (progn (advice-add 'lsp--on-diagnostics :after note)
                                   (lsp-mode-test-outcome buffer))
                          (advice-remove 'lsp--on-diagnostics note)))
               (end (float-time)))
          (princ (format "%s: fresh %.0f ms after the edit, %.0f ms after the report\n" name
                         (* 1000 (- end start)) (* 1000 (- end spoke))))
          (should (eq (plist-get outcome :fresh) t))
          (should (equal (mapcar #'car (lsp-mode-test-rows outcome)) (list row)))
          ;; A poll, not a time-out.
          (should (< (- end spoke) 0.5)))
        ;; Once it has spoken the answer is there at once.
        (with-current-buffer buffer
          (let ((start (float-time)))
            (should (eq t (plist-get (eca-context-lsp-mode-diagnostics
                                      (list :path buffer-file-name) #'ignore)
                                     :fresh)))
            (princ (format "%s: checked before: %.2f ms\n" name
                           (* 1000 (- (float-time) start))))))))))

(ert-deftest lsp-mode-test-an-undone-edit ()
  (lsp-mode-test-in folder
    (let ((buffer (lsp-mode-test-visit (expand-file-name "a.c" folder) "int a = bad;\n")))
      (should (eq (plist-get (lsp-mode-test-outcome buffer) :fresh) t))
      (with-current-buffer buffer
        (goto-char (point-min))
        (insert "x")
        (delete-char -1)
        (let ((outcome (eca-context-lsp-mode-diagnostics
                        (list :path buffer-file-name :deadline (+ 5 (float-time))) #'ignore)))
          (should (eq (plist-get outcome :fresh) t))
          (should (equal (mapcar #'car (lsp-mode-test-rows outcome)) '((0 8 0 11)))))))))

(defvar lsp-mode-test-held nil "What was published meanwhile, the newest first.")

(defun lsp-mode-test-hold (_handle &rest arguments)
  "Keep the ARGUMENTS of a publish for later."
  (push arguments lsp-mode-test-held))

(defmacro lsp-mode-test-busy (&rest body)
  "Evaluate BODY while the servers take their time; then hear them."
  (declare (indent 0) (debug (body)))
  `(progn
     (setq lsp-mode-test-held nil)
     (advice-add 'lsp--on-diagnostics :around #'lsp-mode-test-hold '((depth . -100)))
     (unwind-protect (progn ,@body)
       (advice-remove 'lsp--on-diagnostics #'lsp-mode-test-hold)
       (dolist (arguments (nreverse lsp-mode-test-held))
         (apply #'lsp--on-diagnostics arguments)))))

(ert-deftest lsp-mode-test-c32-moves-while-stale ()
  (dolist (lsp-diagnostics-provider '(:flymake :flycheck :none))
    (lsp-mode-test-in folder
      (let* ((buffer (lsp-mode-test-visit (expand-file-name "a.c" folder)
                                          "int 𠮷 = bad;\nint b = bad2;\nint c = 1 + ;\n"))
             (rows '((0 9 0 12) (1 8 1 12) (2 12 2 13)))
             (down (lambda (row) (list (1+ (nth 0 row)) (nth 1 row) (1+ (nth 2 row))
                                       (nth 3 row)))))
        (should (equal (mapcar #'car (lsp-mode-test-rows (lsp-mode-test-fresh buffer))) rows))
        (with-current-buffer buffer
          (pcase lsp-diagnostics-provider
            (:flymake (flymake-start)
                      (should (eca-context-flymake-shown 'lsp-diagnostics--flymake-backend)))
            (:flycheck (flycheck-buffer)
                       (lsp-mode-test-wait (lambda () (eca-context-flycheck-shown 'lsp))
                                           "overlays"))))
        (lsp-mode-test-busy
          (with-current-buffer buffer
            (goto-char (point-min))
            (insert "int new;\n")
            (forward-line 1)
            (insert "\t"))
          (let ((outcome (lsp-mode-test-outcome buffer 0.4)))
            (should (eq (plist-get outcome :fresh) :json-false))
            (should (equal (mapcar #'car (lsp-mode-test-rows outcome))
                           (list (funcall down (nth 0 rows)) '(2 9 2 13)
                                 (funcall down (nth 2 rows)))))))
        (let ((outcome (lsp-mode-test-outcome buffer)))
          (should (eq (plist-get outcome :fresh) t))
          (should (equal (mapcar #'car (lsp-mode-test-rows outcome))
                         (list (funcall down (nth 0 rows)) '(2 9 2 13)
                               (funcall down (nth 2 rows))))))))))

(ert-deftest lsp-mode-test-nothing-seen-is-not-clean ()
  (lsp-mode-test-in folder
    (eca-context-lsp-mode-unwatch)
    (let* ((file (expand-file-name "a.c" folder))
           (buffer (lsp-mode-test-visit file "int a = bad;\n"))
           (workspace (with-current-buffer buffer (car (lsp-workspaces)))))
      (lsp-mode-test-wait (lambda () (gethash file (lsp--workspace-diagnostics workspace)))
                          "diagnostics")
      ;; We came later: the server will not speak again.
      (eca-context-lsp-mode-watch)
      (let ((start (float-time)))
        (dolist (least '(1.9 0))
          (let ((outcome (lsp-mode-test-outcome buffer)))
            (should (eq (plist-get outcome :fresh) :json-false))
            (should (equal (mapcar #'car (lsp-mode-test-rows outcome)) '((0 8 0 11))))
            (should (< least (- (float-time) start) (+ least 1)))
            (setq start (float-time))))))))

(defun lsp-mode-test-no-version (arguments)
  "Return ARGUMENTS of a publish without its version."
  (remhash "version" (cadr arguments))
  arguments)

(ert-deftest lsp-mode-test-without-versions ()
  (lsp-mode-test-in folder
    (unwind-protect
        (let ((buffer (progn
                        (advice-add 'lsp--on-diagnostics :filter-args #'lsp-mode-test-no-version
                                    '((depth . -100)))
                        (lsp-mode-test-visit (expand-file-name "a.py" folder) "a = 1\n"))))
          (lsp-mode-test-outcome buffer)
          (with-current-buffer buffer
            (insert "b = bad\n")
            (let* ((file (eca-context-lsp-mode--file))
                   (workspace (car (lsp-workspaces)))
                   (record (eca-context-lsp-mode--record workspace file)))
              ;; What comes before the server has taken the text in is not about it.
              (lsp-mode-test-publish workspace file nil)
              (should-not (eca-context-lsp-mode--record-hash record))
              (lsp-mode-test-wait
               (lambda ()
                 (equal (mapcar #'car (lsp-mode-test-rows (lsp-mode-test-outcome buffer)))
                        '((0 4 0 7))))
               "report")
              (lsp-mode-test-wait
               (lambda () (equal (eca-context-lsp-mode--record-barrier record)
                                 (eca-context-lsp-mode--hash)))
               "answer of the server")
              (lsp-mode-test-publish workspace file nil '(0 4 0 7 "x"))
              (should (eq (plist-get (lsp-mode-test-outcome buffer) :fresh) t)))))
      (advice-remove 'lsp--on-diagnostics #'lsp-mode-test-no-version))))

(ert-deftest lsp-mode-test-several-servers ()
  (let ((eca-context-lsp-mode--servers (make-hash-table :test #'eq)))
    (cl-flet ((silent () (eca-context-lsp-mode--silent '(one two) "/f" "new"))
              (say (workspace hash)
                (let ((record (eca-context-lsp-mode--record workspace "/f")))
                  (setf (eca-context-lsp-mode--record-said record) t
                        (eca-context-lsp-mode--record-hash record) hash))))
      (should (equal (silent) '(one two)))
      (say 'one "new")
      (should (equal (silent) '(two)))
      ;; One that never says anything is waited for once.
      (setf (eca-context-lsp-mode--record-vain (eca-context-lsp-mode--record 'two "/f")) "new")
      (should-not (silent))
      (say 'two "old")
      (should (equal (silent) '(two)))
      (say 'two "new")
      (should-not (silent)))))

;;;; Servers that start and end

(define-derived-mode lsp-mode-test-slow-mode prog-mode "Slow"
  "A mode whose server never comes to life.")
(lsp-register-client
 (make-lsp-client :new-connection (lsp-stdio-connection '("sleep" "60"))
                  :major-modes '(lsp-mode-test-slow-mode) :server-id 'slow))

(ert-deftest lsp-mode-test-starting ()
  (lsp-mode-test-in folder
    (let ((file (expand-file-name "a.slow" folder))
          (auto-mode-alist (cons '("\\.slow\\'" . lsp-mode-test-slow-mode) auto-mode-alist))
          (start 0))
      (let ((buffer (lsp-mode-test-visit file "a\n")))
        (setq start (float-time))
        (let ((outcome (lsp-mode-test-outcome buffer)))
          (should (equal (plist-get outcome :status) "starting"))
          (should (< 1.9 (- (float-time) start) 2.5)))))))

(ert-deftest lsp-mode-test-a-killed-server ()
  (lsp-mode-test-in folder
    (let* ((buffer (lsp-mode-test-visit (expand-file-name "a.c" folder) "int a = bad;\n"))
           (workspace (with-current-buffer buffer (car (lsp-workspaces))))
           (process (lsp--workspace-proc workspace))
           (start 0))
      (lsp-mode-test-fresh buffer)
      (with-current-buffer buffer
        (signal-process (process-id process) 'SIGSTOP)
        (insert "int b;\n")
        (run-at-time 0.2 nil (lambda () (signal-process (process-id process) 'SIGKILL)))
        (setq start (float-time))
        (should (equal (plist-get (lsp-mode-test-outcome buffer) :status) "error"))
        (should (< (- (float-time) start) 2))
        (should (equal (plist-get (lsp-mode-test-outcome buffer) :reason)
                       "the language server has ended"))))))

(ert-deftest lsp-mode-test-a-killed-buffer ()
  (lsp-mode-test-in folder
    (let ((buffer (lsp-mode-test-visit (expand-file-name "a.c" folder) "int a;\n")))
      (lsp-mode-test-fresh buffer)
      (with-current-buffer buffer
        (lsp-mode-test-busy
          (insert "int b;\n")
          (set-buffer-modified-p nil)
          (run-at-time 0.2 nil (lambda () (kill-buffer buffer)))
          (let ((start (float-time)))
            (should (equal (plist-get (lsp-mode-test-outcome buffer) :status) "error"))
            (should (< (- (float-time) start) 2))))))))

;;;; Two channels, and the guest

(defun lsp-mode-test-other (report &rest _)
  "Let flymake REPORT something of its own."
  (funcall report (list (flymake-make-diagnostic (current-buffer) 1 2 :warning "own"))))

(ert-deftest lsp-mode-test-one-problem-is-told-once ()
  (dolist (lsp-diagnostics-provider '(:flymake :flycheck))
    (lsp-mode-test-in folder
      (let* ((file (expand-file-name "a.c" folder))
             (buffer (lsp-mode-test-visit file "int 𠮷 = bad;\nint c = bad;\n")))
        (lsp-mode-test-fresh buffer)
        (with-current-buffer buffer
          (if (eq lsp-diagnostics-provider :flycheck)
              (progn (flycheck-buffer)
                     (lsp-mode-test-wait (lambda () (eca-context-flycheck-shown 'lsp)) "overlays"))
            (add-hook 'flymake-diagnostic-functions #'lsp-mode-test-other nil t)
            (flymake-start)))
        (let ((result (guest-check "editor/getDiagnostics" (list :uri (guest-uri file))
                                   (list folder))))
          (should (equal (mapcar (lambda (found)
                                   (list (plist-get (plist-get (plist-get found :range) :start)
                                                    :character)
                                         (plist-get found :severity)))
                                 (plist-get result :diagnostics))
                         (append (and (eq lsp-diagnostics-provider :flymake) '((0 "warning")))
                                 '((9 "error") (8 "error")))))
          (should-not (plist-get result :unavailable))
          (should (eq (plist-get result :fresh) t)))
        (with-current-buffer buffer
          (goto-char (point-max))
          (insert "int d = bad;\n")
          (should (equal (length (plist-get (plist-get (guest-ask "editor/getDiagnostics"
                                                                  (list :uri (guest-uri file))
                                                                  (list folder))
                                                       :result)
                                            :diagnostics))
                         (if (eq lsp-diagnostics-provider :flymake) 4 3))))))))

;;;; All files

(ert-deftest lsp-mode-test-c30-merely-loaded ()
  (should (equal lsp-mode-test-loaded-items '(nil nil nil))))

(ert-deftest lsp-mode-test-c30-a-readme-in-front ()
  (lsp-mode-test-in folder
    (guest-with-folder second
      (lsp-workspace-folders-add second)
      (let* ((one (lsp-mode-test-visit (expand-file-name "one.c" folder) "int a = bad;\n"))
             (two (lsp-mode-test-visit (expand-file-name "two.c" second) "int b = bad;\n"))
             (workspaces (list (with-current-buffer one (car (lsp-workspaces)))
                               (with-current-buffer two (car (lsp-workspaces)))))
             (listed (lambda (roots)
                       (sort (mapcar (lambda (item) (list (aref item 0) (aref item 5)))
                                     (eca-context-lsp-mode-listed-items roots))
                             (lambda (a b) (string< (car a) (car b)))))))
        (should-not (eq (car workspaces) (cadr workspaces)))
        (lsp-mode-test-fresh one)
        (lsp-mode-test-fresh two)
        (lsp-mode-test-publish (car workspaces) (concat folder "x y.c") nil '(0 1 0 2 "first"))
        (lsp-mode-test-publish (cadr workspaces) (concat second "z.c") nil '(0 1 0 2 "second"))
        (guest-write (concat folder "README") "read me\n")
        (with-current-buffer (find-file-noselect (concat folder "README"))
          (should (equal (sort (funcall listed nil) (lambda (a b) (string< (cadr a) (cadr b))))
                         (list (list (concat folder "x y.c") "first")
                               (list (concat second "z.c") "second"))))
          (should (equal (funcall listed (list folder))
                         (list (list (concat folder "x y.c") "first"))))
          (should-not (eca-context-lsp-mode-diagnostics
                       (list :path buffer-file-name) #'ignore)))
        (with-current-buffer one (kill-buffer))))))

;;;; Files nobody visits

(defun lsp-mode-test-of-file (path &optional meanwhile seconds)
  "Return what is said of PATH, which nobody visits; nil if nobody took the job.
Call MEANWHILE once it is under way.  It may take SECONDS (20)."
  (let ((said nil)
        (n 0))
    (when (with-current-buffer "*scratch*"
            (eca-context-lsp-mode-diagnostics-of-file
             path (lambda (outcome) (setq said outcome n (1+ n)))
             (+ (float-time) (or seconds 20))))
      (when meanwhile (funcall meanwhile))
      (lsp-mode-test-wait (lambda () said) "outcome")
      (should (= n 1))
      said)))

(ert-deftest lsp-mode-test-c44-a-file-nobody-visits ()
  (lsp-mode-test-in folder
    (let* ((clean (expand-file-name "clean.py" folder))
           (broken (expand-file-name "sub/caf é.py" folder))
           (buffer (lsp-mode-test-visit clean "a = 1\n"))
           (workspace (with-current-buffer buffer (car (lsp-workspaces))))
           (table (lsp--workspace-diagnostics workspace))
           (text "import os\nif x:\n\tx = \"😀\"; bad()\ny = (\n"))
      (lsp-mode-test-fresh buffer)
      (guest-write broken text)
      (lsp-mode-test-publish workspace broken nil '(0 0 0 1 "listed"))
      (let ((buffers (buffer-list))
            (rows nil))
        (dotimes (_ 2)
          (let* ((start (float-time))
                 (outcome (lsp-mode-test-of-file broken)))
            (princ (format "unvisited: %.0f ms\n" (* 1000 (- (float-time) start))))
            (should (eq (plist-get outcome :fresh) t))
            (setq rows (mapcar #'cdr (lsp-mode-test-rows outcome)))
            (should (seq-find (lambda (row) (equal (car row) "error")) rows))
            (should (member '((2 11 2 14) "error" "Pyright" "reportUndefinedVariable"
                              "\"bad\" is not defined")
                            (lsp-mode-test-rows outcome)))
            (should (equal (mapcar (lambda (item) (aref item 5))
                                   (eca-context-lsp-mode--items (gethash broken table) "/f"))
                           '("listed")))
            (should (equal (buffer-list) buffers))
            (should-not (memq #'eca-context-lsp-mode--make-way
                              (default-value 'lsp-before-open-hook)))))
        ;; Changed on disk, looked at again.
        (guest-write broken "a = 1\n")
        (should (equal (lsp-mode-test-of-file broken)
                       '(:provider "lsp-mode" :kind "semantic" :status "ok" :fresh t :items nil)))
        ;; A time in which nothing can be found out: never clean.
        (lsp-mode-test-busy
          (remhash broken table)
          (should (equal (plist-get (lsp-mode-test-of-file broken nil 0.2) :status) "timeout")))
        ;; Then the user comes.
        (let ((outcome (lsp-mode-test-outcome
                        (lsp-mode-test-visit broken "import os\n"))))
          (should (eq (plist-get outcome :fresh) t))
          (should (equal (mapcar #'car (lsp-mode-test-rows outcome)) '((0 7 0 9)))))))))

(ert-deftest lsp-mode-test-c30-c44-through-the-door ()
  (lsp-mode-test-in folder
    (let* ((buffer (lsp-mode-test-visit (expand-file-name "a.c" folder) "int a = bad;\n"))
           (broken (guest-write (expand-file-name "b.c" folder) "int b = bad;\n"))
           (workspace (with-current-buffer buffer (car (lsp-workspaces))))
           (rows (lambda (params)
                   (mapcar (lambda (found)
                             (list (file-name-nondirectory (plist-get found :uri))
                                   (plist-get found :source) (plist-get found :message)))
                           (plist-get (guest-check "editor/getDiagnostics" params (list folder))
                                      :diagnostics))))
           (message "Use of undeclared identifier 'bad'"))
      (lsp-mode-test-fresh buffer)
      (guest-write (concat folder "README") "read me\n")
      (should (equal (funcall rows (list :uri broken)) (list (list "b.c" "clang" message))))
      (lsp-mode-test-publish workspace (concat folder "c.c") nil '(0 1 0 2 "held"))
      (with-current-buffer (find-file-noselect (concat folder "README"))
        (should (equal (sort (funcall rows nil) (lambda (a b) (string< (car a) (car b))))
                       (list (list "a.c" "clang" message) (list "c.c" nil "held"))))))))

(ert-deftest lsp-mode-test-the-user-visits-meanwhile ()
  (lsp-mode-test-in folder
    (let* ((buffer (lsp-mode-test-visit (expand-file-name "clean.c" folder) "int a;\n"))
           (file (expand-file-name "b.c" folder))
           (sent nil)
           (note (lambda (method params)
                   (push (list method (plist-get (plist-get params :textDocument) :version))
                         sent)))
           visiting)
      (lsp-mode-test-fresh buffer)
      (guest-write file "int b = bad;\n")
      (unwind-protect
          (progn
            (advice-add 'lsp-notify :before note)
            (lsp-mode-test-of-file
             file (lambda () (setq visiting (lsp-mode-test-visit file "int b = bad2;\n")))))
        (advice-remove 'lsp-notify note))
      (should (equal (mapcar #'car (reverse sent))
                     '("textDocument/didOpen" "textDocument/didClose" "textDocument/didOpen")))
      (should (equal (cadr (car sent)) 0))
      (let ((outcome (lsp-mode-test-outcome visiting)))
        (should (eq (plist-get outcome :fresh) t))
        (should (equal (mapcar #'car (lsp-mode-test-rows outcome)) '((0 8 0 12))))))))

(ert-deftest lsp-mode-test-no-server-for-a-file ()
  (lsp-mode-test-in folder
    (let ((file (guest-write (expand-file-name "b.c" folder) "int b;\n")))
      (ignore file)
      (should-not (lsp-mode-test-of-file (expand-file-name "b.c" folder)))
      (lsp-mode-test-outcome (lsp-mode-test-visit (expand-file-name "a.c" folder) "int a;\n"))
      (guest-write (expand-file-name "b.py" folder) "b = 1\n")
      (should-not (lsp-mode-test-of-file (expand-file-name "b.py" folder)))
      (should-not (lsp-mode-test-of-file (expand-file-name "a.c" folder)))
      (guest-with-folder elsewhere
        (guest-write (expand-file-name "b.c" elsewhere) "int b;\n")
        (should-not (lsp-mode-test-of-file (expand-file-name "b.c" elsewhere)))))))

(provide 'lsp-mode-test)
;;; lsp-mode-test.el ends here
