;;; bench-test.el --- The bench runs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; In tiny sizes: each peer gives the same bytes, and every figure is there.

;; Run-ert: slow, it measures in Emacsen of its own.

;;; Code:

(require 'ert)

(defconst bench-test-script
  (expand-file-name "../benches/run.sh" (file-name-directory (or load-file-name buffer-file-name)))
  "What runs the bench.")

(ert-deftest bench-test-prints-each-figure ()
  (with-temp-buffer
    (let ((process-environment
           (append (list "BENCH_DIVISOR=100"
                         ;; The one that `cargo test' built.
                         (concat "ECA_CONTEXT_PROGRAM="
                                 (expand-file-name
                                  (concat (or (getenv "CARGO_TARGET_DIR") "target")
                                          "/debug/eca-context")
                                  (expand-file-name ".." (file-name-directory bench-test-script))))
                         (concat "EMACSES=" (expand-file-name invocation-name
                                                              invocation-directory)))
                   process-environment))
          names)
      (should (equal (list (call-process bench-test-script nil t nil) (buffer-string))
                     (list 0 (buffer-string))))
      (goto-char (point-min))
      (while (re-search-forward "^bench \\([a-z0-9-]+\\) [0-9.]+ [0-9.]+ \\(-\\|[0-9.]+\\) \\(-\\|[0-9.]+\\)$"
                                nil t)
        (push (match-string 1) names))
      (should (equal (nreverse names)
                     '("imenu-5000" "diagnostics-all-1000" "diagnostics-near-1000"
                       "diagnostics-all-10000" "diagnostics-near-10000" "positions-1000"
                       "places-1000" "module-load" "context-three"
                       "diagnostics-ready" "diagnostics-after-edit"
                       "stress-all-10000" "stress-near-10000" "stress-200x50"
                       "context-all-eglot" "context-all-eglot-slowest"
                       "references-1000-files" "references-bare-search"
                       "lsp-cold" "lsp-warm-references" "lsp-warm" "mcp-context"))))))

(provide 'bench-test)
;;; bench-test.el ends here
