;;; storm-test.el --- A thousand requests of every kind  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Requests at random, with edits between, while pyright, clangd and typescript-language-server run under
;; eglot and flymake checks Emacs Lisp.  Each is answered once, nothing grows, nothing of the user's is
;; other than before.  The seed is fixed; the schema is held against all answers by tests/schema.py.

;; Run-ert: slow, it waits for language servers.

;;; Code:

(require 'cl-lib)
(require 'eglot-user)
(require 'flymake)

(declare-function eglot-current-server "ext:eglot" t t)
(declare-function jsonrpc-events-buffer "ext:jsonrpc" t t)

(defconst storm-test-files
  '(("app.py" . "import os\n\n\nclass Cart:\n\tdef total(self, items):  # 😀 e\u0301\n\t\t\
return sum(items)\n\n\nprint(Cart().total([1]), missing)\n")
    ("main.c" . "#include <stdio.h>\r\nint twice(int n) { return 2 * n; }\r\n\
int main(void) { /* 漢字 */ return twice(3) }\r\n")
    ("app.js" . "function hello(name) {\n\treturn `𝒳 ${name}`\n}\nhello(1)\n")
    ("lib.el" . ";;; -*- lexical-binding: t -*-\n(defun storm-one (a)\n  \"Twice A.\"\n  (* 2 b))\n\
(storm-one 👩‍👩‍👧 1)\n")
    ("notes.txt" . "only words\n"))
  "What the project holds.")

(defvar storm-test-state 1 "The state of the generator.")

;; ERT keeps what every `should' has seen, which would be much.
(defvar ert--should-execution-observer)

(defun storm-test-random (n)
  "Return a number from 0 to N - 1, the same ones in each run."
  (setq storm-test-state (% (+ (* storm-test-state 1103515245) 12345) (ash 1 31)))
  (% (ash storm-test-state -8) n))

(defun storm-test-one-of (sequence)
  "Return one element of SEQUENCE."
  (elt sequence (storm-test-random (length sequence))))

(defun storm-test-request (folder)
  "Return (METHOD . PARAMS) of some request about FOLDER."
  (let* ((file (storm-test-one-of (append (mapcar #'car storm-test-files) '("gone.py" "unseen.py"))))
         (uri (guest-uri (concat folder file)))
         (number (lambda () (storm-test-one-of '(0 0 1 1 2 3 4 5 7 9 12 40 5000 2147483647 -1 1.5))))
         (position (list :line (funcall number) :character (funcall number)))
         (features '("symbolAtPosition" "definitions" "references" "documentSymbols"
                     "enclosingSymbols" "documentation" "workspace" "nothing")))
    (pcase (storm-test-random 10)
      ((or 0 1) (cons "editor/getDiagnostics" (list :uri uri)))
      (2 (cons "editor/getDiagnostics"
               (list :uri uri :position position :limit (storm-test-one-of '(1 20 0 "x")))))
      (3 (cons "editor/getDiagnostics" (storm-test-one-of '(nil (:minSeverity "warning")
                                                            (:position (:line 1 :character 0))))))
      (4 (cons (storm-test-one-of '("editor/getDefinition" "editor/getReferences"))
               (list :uri uri :position position)))
      (_ (cons "editor/getContext"
               (append (and (> (storm-test-random 10) 0) (list :uri uri))
                       (and (> (storm-test-random 5) 0) (list :position position))
                       (and (= (storm-test-random 5) 0)
                            (list :symbol (storm-test-one-of '("total" "twice" "none" ""))))
                       (and (> (storm-test-random 3) 0)
                            (list :include (vconcat (seq-filter (lambda (_) (= (storm-test-random 2) 0))
                                                                features))))
                       (and (= (storm-test-random 4) 0)
                            (list :limit (storm-test-one-of '(1 3 1000 100000 0))))))))))

(defun storm-test-buffer (name)
  "Return the buffer of the file NAME in the project, which is `default-directory'."
  (find-buffer-visiting (expand-file-name name)))

(defun storm-test-edit ()
  "Change some buffer of the project, or undo a change."
  (with-current-buffer (storm-test-buffer (car (storm-test-one-of storm-test-files)))
    (pcase (storm-test-random 3)
      (0 (goto-char (point-max)) (insert "\nx"))
      (1 (goto-char (point-min)) (forward-line 1) (insert "𝒳 "))
      (_ (erase-buffer)
         (insert (decode-coding-string
                  (encode-coding-string
                   (cdr (assoc (file-name-nondirectory buffer-file-name) storm-test-files)) 'utf-8)
                  'utf-8-dos))))))

(defun storm-test-world ()
  "Return what may not grow."
  (guest-settle)
  (list :buffers (mapcar #'buffer-name (buffer-list)) :processes (process-list)
        :overlays (mapcar (lambda (file)
                            (with-current-buffer (storm-test-buffer (car file))
                              (seq-count (lambda (overlay)
                                           (not (overlay-get overlay 'flymake-diagnostic)))
                                         (overlays-in (point-min) (point-max)))))
                          storm-test-files)
        :windows (guest-windows)))

(ert-deftest storm-test-each-is-answered-once ()
  (guest-with-folder folder
    (let ((default-directory folder)
          (project-find-functions (list (lambda (_) (cons 'transient folder))))
          (inhibit-message t)
          (ert--should-execution-observer nil)
          (storm-test-state 20261202)
          (n-requests (string-to-number (or (getenv "STORM_REQUESTS") "200")))
          (n-answered 0)
          before n-timers)
      (guest-write (concat folder "unseen.py") "import app\n\napp.Cart().total(1)\n")
      (eca-context-collect-watch)
      (unwind-protect
          (progn
            (pcase-dolist (`(,file . ,text) storm-test-files)
              (guest-write (concat folder file) text)
              (with-current-buffer (find-file-noselect (concat folder file))
                (buffer-disable-undo)
                (pcase (file-name-extension file)
                  ((or "py" "c" "js")
                   (eglot-test-connect)
                   ;; Its log is there from the first message on, unless it is told to keep none.
                   (jsonrpc-events-buffer (eglot-current-server)))
                  ("el" (flymake-mode 1)))))
            (dotimes (n n-requests)
              (when (= n (/ n-requests 5))
                (setq before (storm-test-world)))
              (when (= (storm-test-random 4) 0)
                (storm-test-edit))
              (pcase-let* ((`(,method . ,params) (storm-test-request folder))
                           ;; Some are answered while others are.
                           (more (and (= (storm-test-random 10) 0) (storm-test-request folder)))
                           (frames nil))
                (when more
                  (eca-context-answer n (car more) (cdr more)
                                      (list :roots (list folder) :deadline (+ (float-time) 2))
                                      (lambda (frame) (push frame frames))))
                (let ((answer (guest-ask method params (list folder) 2)))
                  (ert-info ((format "%S" (list n method params answer)))
                    (should (equal (plist-get answer :id) 7))
                    (should (xor (plist-member answer :result) (plist-member answer :error)))
                    (when (plist-member answer :error)
                      (should (member (plist-get (plist-get answer :error) :code) '(-32602 -32601))))))
                (when more
                  (with-timeout (10 (error "No answer to %S" more))
                    (while (null frames) (accept-process-output nil 0.005)))
                  (should (= (length frames) 1))))
              (setq n-answered (1+ n-answered)))
            (should (= n-answered n-requests))
            (let ((difference (guest-difference before (storm-test-world))))
              (when difference
                (ert-fail (list "grown" difference))))
            (setq n-timers (length timer-list))
            ;; What waits for a checker's word ends, too.
            (with-timeout (20 (error "Timers stay: %S" timer-list))
              (while (seq-some (lambda (timer)
                                 (string-prefix-p "eca-context" (format "%s" (timer--function timer))))
                               timer-list)
                (accept-process-output nil 0.05)))
            (should (<= n-timers 40)))
        (eca-context-collect-unwatch)
        (mapc #'delete-process (eglot-test-processes))))))

(provide 'storm-test)
;;; storm-test.el ends here
