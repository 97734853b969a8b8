;;; features.el --- Measure all features with a server, and many references  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Loaded by bench.el.  The language server is pyright under the real eglot.

;;; Code:

(require 'cl-lib)
(require 'etags)
(require 'jsonrpc)
(require 'seq)
(require 'xref)
(require 'bench)
(require 'eglot-user)
(require 'eca-context-eca)

(declare-function eglot-current-server "ext:eglot" t t)
(declare-function eglot--TextDocumentPositionParams "ext:eglot" t t)
(declare-function eglot--TextDocumentIdentifier "ext:eglot" t t)

;;;; context-all-eglot

(defconst bench-features
  ["symbolAtPosition" "definitions" "references" "documentSymbols" "enclosingSymbols"
   "documentation" "workspace"]
  "All features of `editor/getContext'.")

(defun bench-python (n-lines)
  "Return Python text of N-LINES or a few more, 60 calls of one function in it."
  (let ((n-classes (/ n-lines 33))
        (parts (list "def tax(price: float, rate: float = 0.2) -> float:
    \"\"\"Return the tax on PRICE.\"\"\"
    return price * rate\n\n\n")))
    (dotimes (n n-classes)
      (push (format "class Basket%d:\n    \"\"\"A basket, 😀.\"\"\"\n\n" n) parts)
      (dotimes (k 5)
        (push (format "    def total_%d(self, prices: list[float]) -> float:
        total = 0.0
        for price in prices:
            total += %s
        return total\n\n" k (if (zerop k) "tax(price)" "price"))
              parts)))
    (apply #'concat (nreverse parts))))

(defun bench-round-trip (server method params)
  "Return how many milliseconds SERVER takes to answer METHOD with PARAMS."
  (bench-ms (lambda ()
              (let ((said nil))
                (jsonrpc-async-request server method params
                                       :success-fn (lambda (_) (setq said t))
                                       :error-fn (lambda (said) (error "%s: %S" method said))
                                       :timeout-fn #'ignore)
                (while (not said) (bench-wait nil))))))

(defun bench-context-all (_)
  "Measure `editor/getContext' with all features, under eglot with pyright.
The peers are the sum of the bare round trips to that server, and the slowest."
  (eglot-test-in folder
    (with-current-buffer (eglot-test-visit "shop.py" (bench-python (bench-size 2000)))
      (goto-char (point-max))
      (search-backward "tax(")
      (let* ((params (list :uri (bench-uri buffer-file-name)
                           :position (list :line (1- (line-number-at-pos nil t))
                                           :character (- (point) (line-beginning-position)))
                           :include bench-features))
             (server (eglot-current-server))
             (at (eglot--TextDocumentPositionParams))
             (trips `((:textDocument/definition . ,at)
                      (:textDocument/references . (,@at :context (:includeDeclaration t)))
                      (:textDocument/documentSymbol
                       . (:textDocument ,(eglot--TextDocumentIdentifier)))
                      (:textDocument/hover . ,at)
                      (:textDocument/signatureHelp . ,at)))
             ours-ms sum-ms slowest-ms)
        ;; Pyright reads the file and what it imports before its first answer.
        (pcase-dolist (`(,method . ,params) trips)
          (bench-round-trip server method params))
        (eca-context-eca-install)
        (unwind-protect
            (bench-with-server folder ask
              (dotimes (n (if (> bench-divisor 1) 2 16))
                (pcase-let ((`(,ms . ,result) (funcall ask "editor/getContext" params))
                            (bare (mapcar (pcase-lambda (`(,method . ,params))
                                            (bench-round-trip server method params))
                                          trips)))
                  (seq-doseq (feature bench-features)
                    (unless (plist-get result (intern (concat ":" feature)))
                      (error "context-all-eglot: no %s: %S" feature result)))
                  ;; The first one is to warm up.
                  (unless (zerop n)
                    (push ms ours-ms)
                    (push (apply #'+ bare) sum-ms)
                    (push (apply #'max bare) slowest-ms)))))
          (eca-context-eca-uninstall))
        (bench-note "context-all-eglot" ours-ms sum-ms)
        (bench-note "context-all-eglot-slowest" ours-ms slowest-ms)))))

;;;; references-1000-files

(defun bench-referring (n)
  "Return the text of a file in C, the Nth, that calls one function three times."
  (concat "#include \"target.h\"\n"
          (mapconcat (lambda (k)
                       (format "static int helper_%d_%d(int v) {\n\tint acc = 0; /* é 😀 */
\tfor (int j = 0; j < v; j++) {\n\t\tacc += j * 2;\n\t}\n%s\treturn acc;\n}\n"
                               n k (if (memq k '(2 9 16))
                                       "\tconst char *s = \"😀\"; acc += target_fn(acc);\n"
                                     "")))
                     (number-sequence 0 17) "\n")))

(defun bench-references (folder)
  "Measure `editor/getReferences' over 1,000 files in FOLDER, found by grep.
The peers are the real eca-emacs, if it is there, and the bare search."
  (let* ((folder (file-name-as-directory (expand-file-name "references" folder)))
         (n-files (bench-size 1000))
         (uri (bench-write (concat folder "target.c") "int target_fn(int a) { return a; }\n"))
         (tags-file-name (concat folder "TAGS"))
         (tags-add-tables nil)
         (project-find-functions (list (lambda (_) (cons 'transient folder))))
         (params (list :uri uri :position (list :line 1 :character 6)))
         (n-samples (if (> bench-divisor 1) 1 5))
         (before (buffer-list))
         ours-ms bare-ms real-ms)
    (dotimes (n n-files)
      (bench-write (format "%ssrc/f%04d.c" folder n) (bench-referring n)))
    (bench-write tags-file-name
                 "\ntarget.c,24\nint target_fn(int a) {target_fn1,0\n")
    (with-current-buffer (find-file-noselect (concat folder "target.c"))
      (let ((mine (buffer-list))
            (count (lambda (result) (length (plist-get result :locations)))))
        (bench-with-server folder ask
          (eca-context-eca-install)
          (unwind-protect
              (dotimes (_ n-samples)
                (pcase-let ((`(,ms . ,result) (funcall ask "editor/getReferences" params)))
                  (unless (> (funcall count result) (* 3 n-files))
                    (error "references: only %d places" (funcall count result)))
                  (push ms ours-ms))
                (when (> (length (buffer-list)) (1+ (length mine)))
                  (error "references: buffers are left: %S" (seq-difference (buffer-list) mine)))
                (push (bench-ms (lambda () (xref-backend-references 'etags "target_fn")))
                      bare-ms))
            (eca-context-eca-uninstall))
          (when bench-real
            (push (car (funcall ask "editor/getReferences" params)) real-ms)))))
    (dolist (buffer (seq-difference (buffer-list) before))
      (when (buffer-file-name buffer)
        (kill-buffer buffer)))
    (bench-note "references-1000-files" ours-ms real-ms)
    (bench-note "references-bare-search" ours-ms bare-ms)))

(provide 'features)
;;; features.el ends here
