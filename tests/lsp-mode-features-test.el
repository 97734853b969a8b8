;;; lsp-mode-features-test.el --- What real servers know, through lsp-mode  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The real lsp-mode with the real pyright and clangd; `facts-golden' says what they know.

;; Run-ert: slow, it waits for language servers.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'eca-context-background)
(require 'facts)
(require 'lsp-mode-user)

(declare-function lsp "ext:lsp-mode" t t)
(declare-function lsp-register-client "ext:lsp-mode" t t)
(declare-function lsp-stdio-connection "ext:lsp-mode" t t)
(declare-function lsp-workspace-folders-add "ext:lsp-mode" t t)
(declare-function lsp-workspaces "ext:lsp-mode" t t)
(declare-function lsp--session-workspaces "ext:lsp-mode" t t)
(declare-function lsp--workspace-proc "ext:lsp-mode" t t)
(declare-function make-lsp-client "ext:lsp-mode" t t)
(declare-function make-lsp-session "ext:lsp-mode" t t)
(defvar lsp--session)
(defvar lsp-progress-function)

(defun lsp-mode-features-start (feature &optional request seconds)
  "Ask for FEATURE at point, for REQUEST, within SECONDS (30).
Return a function without arguments: nil, or a list with what was answered."
  (let* ((said nil)
         (now (funcall (intern (format "eca-context-lsp-mode-%s" feature))
                       (append request
                               (list :path buffer-file-name
                                     :deadline (+ (float-time) (or seconds 30))))
                       (lambda (outcomes) (push outcomes said)))))
    (if (eq now :async)
        (lambda ()
          (should (<= (length said) 1))
          said)
      (lambda () (list now)))))

(defun lsp-mode-features-ask (feature &optional request seconds)
  "Return what is known of FEATURE at point, for REQUEST, within SECONDS (30)."
  (let ((said (lsp-mode-features-start feature request seconds)))
    (lsp-mode-test-wait said "outcome")
    (let ((outcomes (car (funcall said))))
      (if (keywordp (car-safe outcomes)) (list outcomes) outcomes))))

(defmacro lsp-mode-features-in (row folder &rest body)
  "Evaluate BODY at the place of ROW of `facts-golden', with FOLDER bound."
  (declare (indent 2) (debug (form symbolp body)))
  `(lsp-mode-test-in ,folder
     (with-current-buffer (find-file-noselect (facts-write ,row ,folder))
       (lsp)
       (facts-go ,row)
       ,@body)))

(defun lsp-mode-features-row (file)
  "Return the row of `facts-golden' about FILE."
  (assoc file facts-golden))

(defun lsp-mode-features-rows ()
  "Return the rows of `facts-golden' whose server is there for lsp-mode."
  (seq-remove (lambda (row) (string-suffix-p ".js" (car row))) facts-golden))

;;;; Right values

(ert-deftest lsp-mode-features-golden ()
  (dolist (row (lsp-mode-features-rows))
    (lsp-mode-features-in row folder
      (facts-check row #'lsp-mode-features-ask)
      (should (equal (plist-get (car (lsp-mode-features-ask 'definitions)) :encoding) "utf-16")))))

(ert-deftest lsp-mode-features-unsaved-text-is-sent-first ()
  (dolist (file '("app.py" "app.c"))
    (lsp-mode-features-in (lsp-mode-features-row file) folder
      (ert-info (file)
        (let* ((place (car (nth 2 (lsp-mode-features-row file))))
               (moved (list (nth 0 place) (nth 1 place) (1+ (nth 2 place)) (nth 3 place)
                            (1+ (nth 4 place)) (nth 5 place))))
          (should (equal (facts-definitions (lsp-mode-features-ask 'definitions)) (list place)))
          (save-excursion
            (goto-char (point-min))
            (insert "\n"))
          (should (equal (facts-definitions (lsp-mode-features-ask 'definitions)) (list moved))))))))

;;;; What is asked

(defvar lsp-mode-features-sent nil "What was sent meanwhile, the newest first: (METHOD . ID).")

(defmacro lsp-mode-features-noting (&rest body)
  "Evaluate BODY and note in `lsp-mode-features-sent' what is sent meanwhile."
  (declare (indent 0) (debug (body)))
  `(let ((note (lambda (body)
                 (push (cons (plist-get body :method)
                             (or (plist-get body :id) (plist-get (plist-get body :params) :id)))
                       lsp-mode-features-sent))))
     (setq lsp-mode-features-sent nil)
     (advice-add 'lsp--make-message :before note)
     (unwind-protect (progn ,@body)
       (advice-remove 'lsp--make-message note))))

(defun lsp-mode-features-methods ()
  "Return the methods of `lsp-mode-features-sent', the oldest first."
  ;; What a server is answered has none.
  (delq nil (mapcar #'car (reverse lsp-mode-features-sent))))

(ert-deftest lsp-mode-features-errors ()
  (lsp-mode-features-in (lsp-mode-features-row "app.c") folder
    (lsp-mode-features-ask 'documentation)
    (pcase-dolist
        (`(,answers ,sent ,said)
         '(;; Content modified, once and for ever.
           (((error -32801 "moved") nil) 2 ("ok" nil nil))
           (((error -32801 "moved") (error -32801 "moved")) 2 ("busy" "moved" t))
           (((error -32601 "no such method")) 1 ("unsupported-by-provider" "no such method" nil))
           (((error -32002 "wait")) 1 ("starting" "wait" t))
           (((error -32603 "a\n\n  trace\tof it")) 1 ("error" "a trace of it" nil))))
      (dolist (type '(hash-table plist))
        (ert-info ((format "%S" answers))
          (let ((answers (copy-tree answers))
                (n-sent 0))
            (cl-letf (((symbol-function 'lsp-request-async)
                       (lambda (_method _params done &rest keys)
                         (setq n-sent (1+ n-sent))
                         (pcase (pop answers)
                           (`(error ,code ,message)
                            (funcall (plist-get keys :error-handler)
                                     (json-parse-string
                                      (json-serialize (list :code code :message message))
                                      :object-type type)))
                           (answer (funcall done (list (cons 'workspace answer))))))))
              (let ((outcome (car (lsp-mode-features-ask 'document-symbols))))
                (should (equal (list (plist-get outcome :status) (plist-get outcome :reason)
                                     (plist-get outcome :retry))
                               said))))
            (should (= n-sent sent))))
        (should-not eca-context-client--calls)))))

(ert-deftest lsp-mode-features-what-a-server-lacks ()
  (lsp-mode-features-in (lsp-mode-features-row "app.c") folder
    (lsp-mode-features-ask 'documentation)
    (cl-letf (((symbol-function 'lsp-feature?) #'ignore))
      (dolist (feature '(definitions references document-symbols enclosing-symbols documentation))
        (let ((outcome (car (lsp-mode-features-ask feature))))
          (should (equal (plist-get outcome :status) "unsupported-by-provider"))
          (should (string-match "\\`clangd does not offer textDocument/"
                                (plist-get outcome :reason))))))))

(ert-deftest lsp-mode-features-one-request-for-two ()
  (lsp-mode-features-in (lsp-mode-features-row "app.c") folder
    (lsp-mode-features-ask 'documentation)
    (lsp-mode-features-noting
      (let ((symbols (lsp-mode-features-start 'document-symbols))
            (enclosing (lsp-mode-features-start 'enclosing-symbols)))
        (lsp-mode-test-wait (lambda () (and (funcall symbols) (funcall enclosing))) "outcomes")
        (should (equal (facts-symbols (car (funcall symbols)))
                       (facts-symbols (car (funcall enclosing)))))))
    (should (equal (lsp-mode-features-methods) '("textDocument/documentSymbol")))
    (should-not eca-context-client--calls)))

(ert-deftest lsp-mode-features-no-progress-is-shown ()
  (let* ((shown nil)
         (lsp-progress-function (lambda (&rest _) (push t shown))))
    (lsp-mode-features-in (lsp-mode-features-row "app.py") folder
      (lsp-mode-features-ask 'references)
      (setq shown nil)
      (lsp-mode-features-ask 'references)
      (should-not shown)
      ;; There is something to be shown.
      (cl-letf (((symbol-function 'eca-context-client-token-p) #'ignore))
        (lsp-mode-features-ask 'references))
      (should shown))))

;;;; Waiting, and waiting no more

(ert-deftest lsp-mode-features-not-managed ()
  (lsp-mode-test-in folder
    (with-current-buffer (find-file-noselect (facts-write (lsp-mode-features-row "app.c") folder))
      (dolist (feature '(definitions references document-symbols enclosing-symbols documentation))
        (should-not (lsp-mode-features-ask feature)))
      (lsp)
      ;; It is on its way, and waited for.
      (facts-go (lsp-mode-features-row "app.c"))
      (should (equal (facts-definitions (lsp-mode-features-ask 'definitions))
                     (nth 2 (lsp-mode-features-row "app.c")))))))

(define-derived-mode lsp-mode-features-slow-mode prog-mode "Slow"
  "A mode whose server never comes to life.")
(when (featurep 'lsp-mode)
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection '("sleep" "60"))
                    :major-modes '(lsp-mode-features-slow-mode) :server-id 'slow-features)))

(ert-deftest lsp-mode-features-starting ()
  (lsp-mode-test-in folder
    (let* ((auto-mode-alist (cons '("\\.slow\\'" . lsp-mode-features-slow-mode) auto-mode-alist))
           (buffer (lsp-mode-test-visit (expand-file-name "a.slow" folder) "a\n"))
           (start (float-time)))
      (with-current-buffer buffer
        (should (equal (lsp-mode-features-ask 'definitions)
                       '((:provider "lsp-mode" :kind "semantic" :status "starting"
                          :reason "the language server is starting" :retry t))))
        (should (< 1.9 (- (float-time) start) 2.5))))))

(ert-deftest lsp-mode-features-what-comes-too-late-is-cancelled ()
  (lsp-mode-features-in (lsp-mode-features-row "app.c") folder
    (lsp-mode-features-ask 'documentation)
    (let ((timers (copy-sequence timer-list))
          (start (float-time)))
      (lsp-mode-test-deaf (car (lsp-workspaces))
        (lsp-mode-features-noting
          (let ((outcomes (lsp-mode-features-ask 'documentation nil 0.3)))
            (should (equal (mapcar (lambda (outcome) (plist-get outcome :status)) outcomes)
                           '("timeout"))))
          (should (< 0.25 (- (float-time) start) 1))
          (should-not (seq-difference timer-list timers #'eq))
          (let ((ids (lambda (is-cancel)
                       (sort (delq nil (mapcar (lambda (one)
                                                 (and (eq is-cancel
                                                          (equal (car one) "$/cancelRequest"))
                                                      (cdr one)))
                                               lsp-mode-features-sent))
                             #'<))))
            (should (= 2 (length (funcall ids t))))
            (should (equal (funcall ids t) (funcall ids nil))))))
      (should-not eca-context-client--calls)
      (should (= 2 (length (lsp-mode-features-ask 'documentation)))))))

(ert-deftest lsp-mode-features-the-server-dies ()
  (lsp-mode-features-in (lsp-mode-features-row "app.c") folder
    (lsp-mode-features-ask 'documentation)
    (let ((workspace (car (lsp-workspaces)))
          (start (float-time))
          (said nil))
      (lsp-mode-test-deaf workspace
        (setq said (lsp-mode-features-start 'documentation))
        (signal-process (process-id (lsp--workspace-proc workspace)) 'SIGKILL)
        (lsp-mode-test-wait said "outcome")
        (should (< (- (float-time) start) 5))
        (should (equal (mapcar (lambda (outcome)
                                 (list (plist-get outcome :status) (plist-get outcome :reason)))
                               (car (funcall said)))
                       '(("error" "the language server is gone")))))
      (should (equal (mapcar (lambda (outcome) (plist-get outcome :status))
                             (lsp-mode-features-ask 'definitions))
                     '("error")))
      (should-not eca-context-client--calls))))

;;;; Files nobody visits

(ert-deftest lsp-mode-features-nobody-visits ()
  (dolist (row (seq-filter (lambda (row) (string-prefix-p "wide" (car row)))
                           (lsp-mode-features-rows)))
    (ert-info ((car row))
      (lsp-mode-test-in folder
        (with-current-buffer
            (lsp-mode-test-visit (expand-file-name
                                  (concat "other." (file-name-extension (car row))) folder)
                                 "\n")
          (let* ((file (facts-write row folder))
                 (server (progn
                           (lsp-mode-test-wait
                            (lambda ()
                              (seq-some #'eca-context-lsp-mode--live-p
                                        (lsp--session-workspaces lsp--session)))
                            "server")
                           (car (lsp-workspaces))))
                 (copy (eca-context-background-buffer file)))
            (should server)
            (unwind-protect
                (with-current-buffer copy
                  (facts-go row)
                  (facts-check row (lambda (feature)
                                     (lsp-mode-features-ask feature (list :path file :copy t))))
                  ;; Side by side the file is opened once.
                  (lsp-mode-features-noting
                    (let ((asked (mapcar (lambda (feature)
                                           (lsp-mode-features-start
                                            feature (list :path file :copy t)))
                                         '(definitions references document-symbols
                                           enclosing-symbols documentation))))
                      (lsp-mode-test-wait (lambda () (seq-every-p #'funcall asked)) "outcomes")
                      (should (equal (facts-definitions (car (funcall (car asked))))
                                     (nth 2 row)))))
                  (should (equal (seq-filter (lambda (method)
                                               (string-match-p "did\\(Open\\|Close\\)" method))
                                             (lsp-mode-features-methods))
                                 '("textDocument/didOpen" "textDocument/didClose")))
                  (should-not (lsp-mode-features-ask 'definitions
                                                     (list :path file :copy t :outdated t))))
              (eca-context-background-kill copy))
            (should-not (find-buffer-visiting file))
            (should-not (memq #'eca-context-lsp-mode--make-way
                              (default-value 'lsp-before-open-hook)))))))))

;;;; Through the door

(ert-deftest lsp-mode-features-answers ()
  (dolist (row (lsp-mode-features-rows))
    (lsp-mode-features-in row folder
      (lsp-mode-features-ask 'documentation)
      (facts-check-answer row (guest-check "editor/getContext" (facts-params buffer-file-name row)
                                           (list folder))
                          "lsp-mode"))))

(ert-deftest lsp-mode-features-answers-where-nobody-visits ()
  (dolist (row (seq-filter (lambda (row) (string-prefix-p "wide" (car row)))
                           (lsp-mode-features-rows)))
    (lsp-mode-test-in folder
      (with-current-buffer
          (lsp-mode-test-visit (expand-file-name
                                (concat "other." (file-name-extension (car row))) folder)
                               "\n")
        (lsp-mode-features-ask 'documentation)
        (let ((file (facts-write row folder)))
          (facts-check-answer row (plist-get (guest-ask "editor/getContext"
                                                        (facts-params file row) (list folder))
                                             :result)
                              "lsp-mode")
          (should-not (find-buffer-visiting file)))))))

(provide 'lsp-mode-features-test)
;;; lsp-mode-features-test.el ends here
