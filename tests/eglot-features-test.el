;;; eglot-features-test.el --- What real servers know, through eglot  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real eglot with clangd, pyright, typescript-language-server, and ruff; `facts-golden' says what
;; they know.

;; Run-ert: slow, it waits for language servers.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'eca-context-background)
(require 'eglot-user)
(require 'facts)

(declare-function eglot-current-server "ext:eglot" t t)
(declare-function eglot-managed-p "ext:eglot" t t)
(declare-function eglot--signal-textDocument/didChange "ext:eglot" t t)
(declare-function jsonrpc--process "ext:jsonrpc" t t)
(declare-function jsonrpc-async-request "ext:jsonrpc" t t)
(defvar eglot-server-programs)
(defvar eglot-sync-connect)

(defun eglot-features-start (feature &optional request seconds)
  "Ask for FEATURE at point, for REQUEST, within SECONDS (30).
Return a function without arguments: nil, or a list with what was answered."
  (let* ((said nil)
         (now (funcall (intern (format "eca-context-eglot-%s" feature))
                       (append request
                               (list :path buffer-file-name
                                     :deadline (+ (float-time) (or seconds 30))))
                       (lambda (outcomes) (push outcomes said)))))
    (if (eq now :async)
        (lambda ()
          (should (<= (length said) 1))
          said)
      (lambda () (list now)))))

(defun eglot-features-ask (feature &optional request seconds)
  "Return what is known of FEATURE at point, for REQUEST, within SECONDS (30)."
  (let ((said (eglot-features-start feature request seconds)))
    (eglot-test-until (+ 2 (or seconds 30)) (funcall said))
    (should (funcall said))
    (let ((outcomes (car (funcall said))))
      (if (keywordp (car-safe outcomes)) (list outcomes) outcomes))))

(defmacro eglot-features-in (row folder &rest body)
  "Evaluate BODY at the place of ROW of `facts-golden', with FOLDER bound."
  (declare (indent 2) (debug (form symbolp body)))
  `(eglot-test-in ,folder
     (with-current-buffer (find-file-noselect (facts-write ,row ,folder))
       (eglot-test-join)
       (facts-go ,row)
       ,@body)))

(defun eglot-features-row (file)
  "Return the row of `facts-golden' about FILE."
  (assoc file facts-golden))

;;;; Right values

(ert-deftest eglot-features-golden ()
  (dolist (row facts-golden)
    (eglot-features-in row folder
      (facts-check row #'eglot-features-ask))))

;; The use is at character 39 of its line in UTF-16 units, 53 in bytes, 35 in code points.
(ert-deftest eglot-features-encodings ()
  (pcase-dolist (`(,encoding ,option ,def-end ,use ,use-end)
                 `(("utf-8" "--offset-encoding=utf-8" 8 53 57)
                   ("utf-16" "--offset-encoding=utf-16" 6 39 41)
                   ("utf-32" "--offset-encoding=utf-32" 5 35 36)
                   ;; What the two agree on by themselves.
                   ,(if (fboundp 'eglot-server-capable)
                        '("utf-32" "--log=error" 5 35 36)
                      '("utf-16" "--log=error" 6 39 41))))
    (ert-info (option)
      (let ((eglot-server-programs
             `((c-mode . (,(expand-file-name ".test/venv/bin/clangd") "--log=error" ,option)))))
        (eglot-features-in (eglot-features-row "wide.c") folder
          (should (equal (facts-definitions (eglot-features-ask 'definitions))
                         `(("definition" "wide.c" 0 4 0 ,def-end))))
          (let ((outcomes (eglot-features-ask 'references)))
            (should (equal (plist-get (car outcomes) :encoding) encoding))
            (should (equal (facts-references outcomes)
                           `((t "wide.c" 0 4 0 ,def-end)
                             (nil "wide.c" 2 ,use 2 ,use-end))))))))))

(ert-deftest eglot-features-ruff-counts-bytes ()
  (let ((eglot-server-programs
         `((python-mode . (,(expand-file-name ".test/venv/bin/ruff") "server")))))
    (eglot-test-in folder
      (with-current-buffer (eglot-test-visit "a.py" (concat "s = " facts-wide "  # noqa: F401\n"))
        (search-forward "F4")
        (let* ((outcomes (eglot-features-ask 'documentation))
               (hover (car outcomes)))
          (should (equal (length outcomes) 1))
          (should (equal (plist-get hover :role) "hover"))
          (should (equal (plist-get hover :encoding)
                         (if (fboundp 'eglot-server-capable) "utf-8" "utf-16")))
          (should (string-search "unused-import" (cadr (car (facts-documentation outcomes)))))
          (dolist (feature '(definitions references document-symbols enclosing-symbols))
            (let ((outcomes (eglot-features-ask feature)))
              (should (equal (mapcar (lambda (outcome) (plist-get outcome :status)) outcomes)
                             '("unsupported-by-provider")))
              (should (string-match "\\`ruff does not offer textDocument/"
                                    (plist-get (car outcomes) :reason))))))))))

;;;; What is asked

(defvar eglot-features-sent nil "What was sent meanwhile, the newest first: (METHOD ID PARAMS).")

(defmacro eglot-features-noting (&rest body)
  "Evaluate BODY and note in `eglot-features-sent' what is sent meanwhile."
  (declare (indent 0) (debug (body)))
  `(let ((note (lambda (_ &rest keys)
                 (push (list (format "%s" (plist-get keys :method)) (plist-get keys :id)
                             (plist-get keys :params))
                       eglot-features-sent))))
     (setq eglot-features-sent nil)
     (advice-add 'jsonrpc-connection-send :before note)
     (unwind-protect (progn ,@body)
       (advice-remove 'jsonrpc-connection-send note))))

(defun eglot-features-methods ()
  "Return the methods of `eglot-features-sent', the oldest first."
  (mapcar (lambda (one) (string-remove-prefix ":" (car one))) (reverse eglot-features-sent)))

(defmacro eglot-features-answering (answers &rest body)
  "Evaluate BODY with ANSWERS in place of those of the server.
They are an alist: a method, and a list of results to be given one after
another; one that is a list (error CODE MESSAGE) is an error."
  (declare (indent 1) (debug (form body)))
  `(let ((answers (copy-tree ,answers)))
     (cl-letf* ((ask (symbol-function 'jsonrpc-async-request))
                ((symbol-function 'jsonrpc-async-request)
                 (lambda (server method params &rest keys)
                   (let* ((row (assoc (string-remove-prefix ":" (format "%s" method)) answers))
                          (answer (pop (cdr row))))
                     (if (null row)
                         (apply ask server method params keys)
                       (push (list (format "%s" method) nil params) eglot-features-sent)
                       (if (eq (car-safe answer) 'error)
                           (funcall (plist-get keys :error-fn)
                                    (list :code (nth 1 answer) :message (nth 2 answer)))
                         (funcall (plist-get keys :success-fn) answer)))))))
       (setq eglot-features-sent nil)
       ,@body)))

(defun eglot-features-brief (outcomes)
  "Return of OUTCOMES status, role, reason, and whether to ask again."
  (mapcar (lambda (outcome)
            (list (plist-get outcome :status) (plist-get outcome :role)
                  (plist-get outcome :reason) (plist-get outcome :retry)))
          outcomes))

(ert-deftest eglot-features-errors ()
  (eglot-features-in (eglot-features-row "app.c") folder
    (pcase-dolist
        (`(,answers ,sent ,said)
         '(;; Content modified, once and for ever.
           (((error -32801 "moved") nil) 2 ("ok" nil nil nil))
           (((error -32801 "moved") (error -32801 "moved")) 2 ("busy" nil "moved" t))
           (((error -32802 nil) (error -32802 nil)) 2
            ("busy" nil "clangd answered with error -32802" t))
           (((error -32601 "no such method")) 1
            ("unsupported-by-provider" nil "no such method" nil))
           (((error -32002 "wait")) 1 ("starting" nil "wait" t))
           (((error -32603 "a\n\n  trace\tof it")) 1 ("error" nil "a trace of it" nil))))
      (ert-info ((format "%S" answers))
        (eglot-features-answering (list (cons "textDocument/documentSymbol" answers))
          (should (equal (eglot-features-brief (eglot-features-ask 'document-symbols)) (list said)))
          (should (= (length eglot-features-sent) sent)))
        (should-not eca-context-client--calls)))))

(ert-deftest eglot-features-other-roles ()
  (let ((nothing '([]))
        (place '(:uri "file:///x/y.h" :range (:start (:line 1 :character 2)
                                              :end (:line 1 :character 3)))))
    (eglot-features-in (eglot-features-row "app.c") folder
      (pcase-dolist
          (`(,definition ,declaration ,type ,implementation ,said)
           `(((,place) nil nil nil (("ok" "definition" nil nil)))
             (,nothing (,place) ,nothing (nil)
              (("ok" "definition" nil nil) ("ok" "declaration" nil nil)))
             ((nil) ,nothing (,place) ([,place ,place])
              (("ok" "definition" nil nil) ("ok" "typeDefinition" nil nil)
               ("ok" "implementation" nil nil)))
             (,nothing ,nothing ,nothing ((error 1 "bad"))
              (("ok" "definition" nil nil) ("ok" "declaration" nil nil)
               ("ok" "typeDefinition" nil nil) ("error" nil "bad" nil)))
             ;; An error of one is not the absence of a definition.
             (((error 1 "bad")) nil nil nil (("error" nil "bad" nil)))
             (((error -32601 "no")) (,place) ,nothing ,nothing
              (("ok" "declaration" nil nil)))))
        (ert-info ((format "%S" (list definition declaration type implementation)))
          (eglot-features-answering (list (cons "textDocument/definition" definition)
                                          (cons "textDocument/declaration" declaration)
                                          (cons "textDocument/typeDefinition" type)
                                          (cons "textDocument/implementation" implementation))
            (cl-letf (((symbol-function 'eca-context-eglot--capability)
                       (lambda (_ name) (not (eq name :positionEncoding)))))
              (should (equal (eglot-features-brief (eglot-features-ask 'definitions)) said)))
            (should (= (length eglot-features-sent) (if declaration 4 1)))))))))

(ert-deftest eglot-features-one-request-for-two ()
  (eglot-features-in (eglot-features-row "app.c") folder
    (eglot-features-ask 'documentation)
    (eglot-features-noting
      (let ((symbols (eglot-features-start 'document-symbols))
            (enclosing (eglot-features-start 'enclosing-symbols))
            (definitions (eglot-features-start 'definitions))
            (references (eglot-features-start 'references)))
        (eglot-test-until 20 (and (funcall symbols) (funcall enclosing)
                                  (funcall definitions) (funcall references)))
        (should (equal (funcall symbols) (funcall enclosing)))
        (should (equal (facts-definitions (car (funcall definitions)))
                       (nth 2 (eglot-features-row "app.c"))))
        (should (equal (facts-references (car (funcall references)))
                       (nth 3 (eglot-features-row "app.c"))))))
    (should (equal (seq-remove (lambda (method) (equal method "textDocument/declaration"))
                               (eglot-features-methods))
                   '("textDocument/documentSymbol" "textDocument/definition"
                     "textDocument/references")))
    (should-not eca-context-client--calls)))

(ert-deftest eglot-features-unsaved-text-is-sent-first ()
  (dolist (file '("app.py" "app.c" "app.js"))
    (eglot-features-in (eglot-features-row file) folder
      (ert-info (file)
        (let* ((place (car (nth 2 (eglot-features-row file))))
               (moved (append (list (nth 0 place) (nth 1 place))
                              (list (1+ (nth 2 place)) (nth 3 place)
                                    (1+ (nth 4 place)) (nth 5 place)))))
          (should (equal (facts-definitions (eglot-features-ask 'definitions)) (list place)))
          (save-excursion
            (goto-char (point-min))
            (insert "\n"))
          (should (equal (facts-definitions (eglot-features-ask 'definitions)) (list moved))))))))

(ert-deftest eglot-features-no-progress-is-shown ()
  (eglot-features-in (eglot-features-row "app.py") folder
    (eglot-features-ask 'references)
    (let* ((shown nil)
           (note (lambda (_server method &rest _)
                   (when (eq method '$/progress) (push method shown)))))
      (advice-add 'eglot-handle-notification :before note '((depth . 100)))
      (unwind-protect
          (progn
            (eglot-features-ask 'references)
            (should-not shown)
            ;; There is something to be shown.
            (cl-letf (((symbol-function 'eca-context-client-token-p) #'ignore))
              (eglot-features-ask 'references))
            (should shown))
        (advice-remove 'eglot-handle-notification note)))))

(ert-deftest eglot-features-on-another-machine ()
  (let ((json "[{\"uri\":\"file:///a%20b.c\",\"range\":{}},{\"targetUri\":\"file:///c.h\"},
                {\"uri\":\"jdt://contents/x\"},{\"name\":\"no place\"}]"))
    (dolist (type '(hash-table plist))
      (dolist (host '("/ssh:me@far:" nil))
        (let ((places (json-parse-string json :object-type type)))
          (eca-context-client--move places host)
          (eca-context-client--move (aref places 3) host)
          (eca-context-client--move nil host)
          (should (equal (mapcar (lambda (place)
                                   (or (facts-get place :uri) (facts-get place :targetUri)))
                                 places)
                         (if host
                             '("file:///ssh%3Ame%40far%3A/a%20b.c" "file:///ssh%3Ame%40far%3A/c.h"
                               "jdt://contents/x" nil)
                           '("file:///a%20b.c" "file:///c.h" "jdt://contents/x" nil))))
          (should (equal (eca-context-uri-to-path (or (facts-get (aref places 0) :uri)))
                         (concat host "/a b.c"))))))))

;;;; Waiting, and waiting no more

(ert-deftest eglot-features-not-managed ()
  (eglot-test-in folder
    (with-current-buffer (find-file-noselect (facts-write (eglot-features-row "app.c") folder))
      (dolist (feature '(definitions references document-symbols enclosing-symbols documentation))
        (should (equal (eglot-features-ask feature) nil)))
      (let ((eglot-sync-connect nil)
            (eca-context-eglot--patience 0.2)
            ;; One that hears everything and answers nothing.
            (eglot-server-programs '((c-mode . ("sh" "-c" "cat >/dev/null")))))
        (eglot-test-connect)
        (should (equal (eglot-features-brief (eglot-features-ask 'definitions))
                       '(("starting" nil "the language server is starting" t)))))
      (mapc #'eglot-test-kill (eglot-test-processes))
      (let ((eglot-sync-connect nil))
        (eglot-test-connect)
        (should-not (eglot-managed-p))
        (facts-go (eglot-features-row "app.c"))
        (should (equal (facts-definitions (eglot-features-ask 'definitions))
                       (nth 2 (eglot-features-row "app.c"))))))))

(ert-deftest eglot-features-what-comes-too-late-is-cancelled ()
  (eglot-features-in (eglot-features-row "app.c") folder
    (eglot-features-ask 'documentation)
    (let ((process (jsonrpc--process (eglot-current-server)))
          (timers (copy-sequence timer-list))
          (start (float-time)))
      (eglot-test-freeze process)
      (eglot-features-noting
        (should (equal (eglot-features-brief (eglot-features-ask 'documentation nil 0.3))
                       '(("timeout" nil "clangd did not answer in time" t))))
        (should (< 0.25 (- (float-time) start) 1))
        (should-not (seq-difference timer-list timers #'eq))
        (let ((cancelled (mapcar (lambda (one) (plist-get (nth 2 one) :id))
                                 (seq-filter (lambda (one) (string-search "cancel" (car one)))
                                             eglot-features-sent)))
              (asked (delq nil (mapcar #'cadr eglot-features-sent))))
          (should (= 2 (length asked)))
          (should (equal (sort cancelled #'<) (sort asked #'<)))))
      (should-not eca-context-client--calls)
      (eglot-test-thaw process)
      ;; What the server says of that now harms nobody.
      (should (equal (length (eglot-features-ask 'documentation)) 2)))))

(ert-deftest eglot-features-a-search-too-late-spoils-no-later-one ()
  (eglot-features-in (eglot-features-row "app.py") folder
    (eglot-features-noting
      (should (equal (eglot-features-brief (eglot-features-ask 'references nil 0.05))
                     '(("timeout" nil "pyright-langserver did not answer in time" t))))
      (should-not (seq-find (lambda (one) (eql (plist-get (nth 2 one) :id)
                                               (cadr (assoc ":textDocument/references"
                                                            eglot-features-sent))))
                            eglot-features-sent)))
    (should-not eca-context-client--calls)
    (dotimes (_ 2)
      (should (equal (facts-references (eglot-features-ask 'references))
                     (nth 3 (eglot-features-row "app.py")))))))

(ert-deftest eglot-features-what-another-one-needs-is-not-cancelled ()
  (eglot-features-in (eglot-features-row "app.c") folder
    (eglot-features-ask 'documentation)
    (let ((process (jsonrpc--process (eglot-current-server))))
      (eglot-test-freeze process)
      (eglot-features-noting
        (let ((symbols (eglot-features-start 'document-symbols nil 20)))
          (should (equal (plist-get (car (eglot-features-ask 'enclosing-symbols nil 0.2)) :status)
                         "timeout"))
          (should (equal (eglot-features-methods) '("textDocument/documentSymbol")))
          (eglot-test-thaw process)
          (should (eglot-test-until 20 (funcall symbols)))
          (should (equal (facts-symbols (car (funcall symbols)))
                         (nth 4 (eglot-features-row "app.c")))))))))

(ert-deftest eglot-features-the-server-dies ()
  (eglot-features-in (eglot-features-row "app.c") folder
    (eglot-features-ask 'documentation)
    (let ((process (jsonrpc--process (eglot-current-server)))
          (start (float-time)))
      (eglot-test-freeze process)
      (let ((said (eglot-features-start 'documentation)))
        (signal-process process 'SIGKILL)
        (should (eglot-test-until 30 (funcall said)))
        (should (< (- (float-time) start) 5))
        (should (equal (delete-dups (mapcar #'car (eglot-features-brief (car (funcall said)))))
                       '("error"))))
      (should-not eca-context-client--calls))))

(ert-deftest eglot-features-an-error-stays-here ()
  (eglot-features-in (eglot-features-row "app.c") folder
    (cl-letf (((symbol-function 'eca-context-client--found-p) (lambda (_) (error "Oops"))))
      (should (equal (eglot-features-brief (eglot-features-ask 'definitions))
                     '(("error" nil "Oops" nil)))))
    ;; Nor does one of the caller's escape into eglot.
    (let ((n 0))
      (eca-context-eglot-definitions (list :deadline (+ 9 (float-time)))
                                     (lambda (_) (setq n (1+ n)) (error "Oops")))
      (should (eglot-test-until 30 (= n 1)))
      (should (equal (length (eglot-features-ask 'definitions)) 1)))))

;;;; Files nobody visits

(ert-deftest eglot-features-nobody-visits ()
  (dolist (row (seq-filter (lambda (row) (string-prefix-p "wide" (car row))) facts-golden))
    (ert-info ((car row))
      (eglot-test-in folder
        (with-current-buffer
            (eglot-test-visit (concat "other." (file-name-extension (car row))) "\n")
          (let ((file (facts-write row folder))
                (server (eglot-current-server)))
            (let ((copy (eca-context-background-buffer file)))
              (unwind-protect
                  (with-current-buffer copy
                    (facts-go row)
                    (facts-check row (lambda (feature)
                                       (eglot-features-ask feature (list :path file :copy t))))
                    (should-not eca-context-eglot--opens)
                    ;; Side by side the file is opened once.
                    (eglot-features-noting
                      (let ((asked (mapcar (lambda (feature)
                                             (eglot-features-start
                                              feature (list :path file :copy t)))
                                           '(definitions references document-symbols
                                             enclosing-symbols documentation))))
                        (eglot-test-until 20 (seq-every-p #'funcall asked))
                        (should (equal (facts-definitions (car (funcall (car asked))))
                                       (nth 2 row)))))
                    (should (equal (seq-filter (lambda (method)
                                                 (string-match-p "did\\(Open\\|Close\\)" method))
                                               (eglot-features-methods))
                                   '("textDocument/didOpen" "textDocument/didClose")))
                    (should-not (eglot-features-ask 'definitions
                                                    (list :path file :copy t :outdated t)))
                    (should-not (eglot-features-ask 'definitions (list :path "/nowhere.xyz" :copy t))))
                (eca-context-background-kill copy)))
            (should (eglot-test-until 30 (null (gethash server eca-context-eglot--closed))))
            (should-not (find-buffer-visiting file))))))))

;;;; Through the door

(defun eglot-features-quiet ()
  "Wait until eglot itself has no timer."
  (should (eglot-test-until 30 (seq-every-p (lambda (timer) (symbolp (timer--function timer)))
                                            timer-list))))

(ert-deftest eglot-features-answers ()
  (dolist (row facts-golden)
    (eglot-features-in row folder
      (eglot-features-ask 'documentation)
      (eglot-features-quiet)
      (facts-check-answer row (guest-check "editor/getContext" (facts-params buffer-file-name row)
                                           (list folder))
                          "eglot"))))

;; A server may go on speaking when it has answered, as pyright does, which then ends the progress of
;; its search: newer ones take that in by a timer, which is nothing that a request left.
(ert-deftest eglot-features-what-is-said-after-an-answer ()
  (eglot-features-in (eglot-features-row "app.py") folder
    (eglot-features-ask 'documentation)
    (eglot-features-quiet)
    (let ((process (jsonrpc--process (eglot-current-server)))
          (body (json-serialize '(:jsonrpc "2.0" :method "window/logMessage"
                                  :params (:type 4 :message "said"))))
          (before (guest-snapshot)))
      (save-match-data
        (funcall (process-filter process) process
                 (format "Content-Length: %d\r\n\r\n%s" (length body) body)))
      (should-not (guest-difference before (guest-snapshot)))
      (let ((timer (run-at-time 0 nil #'ignore)))
        (should (equal (mapcar #'car (guest-difference before (guest-snapshot))) '(:timers)))
        (cancel-timer timer)))))

(ert-deftest eglot-features-answers-whatever-the-encoding ()
  (dolist (option '("--offset-encoding=utf-8" "--offset-encoding=utf-16"
                    "--offset-encoding=utf-32" "--log=error"))
    (ert-info (option)
      (let ((row (eglot-features-row "wide.c"))
            (eglot-server-programs
             `((c-mode . (,(expand-file-name ".test/venv/bin/clangd") "--log=error" ,option)))))
        (eglot-features-in row folder
          (eglot-features-ask 'documentation)
          (eglot-features-quiet)
          (facts-check-answer row (guest-check "editor/getContext"
                                               (facts-params buffer-file-name row) (list folder))
                              "eglot"))))))

(ert-deftest eglot-features-answers-where-nobody-visits ()
  (dolist (row (seq-filter (lambda (row) (string-prefix-p "wide" (car row))) facts-golden))
    (eglot-test-in folder
      (with-current-buffer
          (eglot-test-visit (concat "other." (file-name-extension (car row))) "\n")
        (eglot-features-ask 'documentation)
        (eglot-features-quiet)
        (let ((file (facts-write row folder)))
          (facts-check-answer row (plist-get (guest-ask "editor/getContext"
                                                        (facts-params file row) (list folder))
                                             :result)
                              "eglot")
          (should-not (find-buffer-visiting file))
          (should-not eca-context-eglot--opens))))))

(ert-deftest eglot-features-unsaved-text-elsewhere ()
  (eglot-test-in folder
    (let ((two (eglot-test-visit "two.py" "def f():\n    return 1\n")))
      (with-current-buffer (eglot-test-visit "one.py" "from two import f\nf()\n")
        (facts-definitions (eglot-features-ask 'definitions))
        (with-current-buffer two
          (goto-char (point-min))
          (insert "# first\n"))
        (let ((found (plist-get (plist-get (guest-ask "editor/getContext"
                                                      (list :uri (guest-uri buffer-file-name)
                                                            :position '(:line 1 :character 0)
                                                            :include ["definitions"])
                                                      (list folder))
                                           :result)
                                :definitions)))
          (should (equal (mapcar (lambda (place)
                                   (list (file-name-nondirectory (plist-get place :uri))
                                         (facts-range (plist-get place :range))
                                         (plist-get place :preview) (plist-get place :modified)))
                                 found)
                         '(("two.py" (1 4 1 5) "def f():" t)))))))))

(ert-deftest eglot-features-the-older-requests ()
  (eglot-features-in (eglot-features-row "app.py") folder
    (eglot-features-ask 'documentation)
    (eglot-features-quiet)
    (pcase-dolist (`(,method ,more . ,ranges)
                   '(("editor/getDefinition" nil (7 9 7 14))
                     ("editor/getReferences" nil (7 9 7 14) (13 13 13 18))
                     ("editor/getReferences" (:includeDeclaration :json-false) (13 13 13 18))))
      (let ((result (guest-check method
                                 (append (list :uri (guest-uri buffer-file-name)
                                               :position '(:line 13 :character 14))
                                         more)
                                 (list folder))))
        (should (equal (plist-get result :status) "success"))
        (should (equal (mapcar (lambda (place) (facts-range (plist-get place :range)))
                               (plist-get result :locations))
                       ranges))))))

(provide 'eglot-features-test)
;;; eglot-features-test.el ends here
