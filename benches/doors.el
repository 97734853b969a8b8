;;; doors.el --- Measure one question through both doors  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Loaded by run.sh.  The same question under eglot with pyright, in turn through `eca-context mcp' and by
;; a server of eca-emacs, each from the asking process's write to its read.

;;; Code:

(require 'bench)
(require 'features)
(require 'headless)
(require 'eca-context-serve)
(require 'eglot-user)

(defun bench-mcp (_)
  "Measure `editor_context' of `eca-context mcp'.
The peer is the same question at the door of eca-emacs."
  (eglot-test-in folder
    (make-directory (concat folder "run"))
    (set-file-modes (concat folder "run") #o700)
    (let ((process-environment (cons (concat "XDG_RUNTIME_DIR=" folder "run") process-environment)))
      (with-current-buffer (eglot-test-visit "shop.py" (bench-python (bench-size 2000)))
        (goto-char (point-max))
        (search-backward "tax(")
        (let* ((line (1- (line-number-at-pos nil t)))
               (params (list :uri (bench-uri buffer-file-name)
                             :position (list :line line) :symbol "tax" :limit 1000
                             :include ["symbolAtPosition" "enclosingSymbols" "definitions"
                                       "documentation" "workspace"]))
               (call (json-serialize
                      (list :name "editor_context"
                            :arguments (list :path "shop.py" :line (1+ line) :symbol "tax"))))
               (agent nil) (said "") (ours-ms nil) (peer-ms nil)
               (ask-agent (lambda ()
                            (setq said "")
                            (garbage-collect)
                            (process-send-string agent (concat call "\n"))
                            (while (and (not (string-suffix-p "\n" said)) (process-live-p agent))
                              (bench-wait agent))
                            (json-parse-string said :object-type 'plist :false-object nil))))
          (eca-context-eca-install)
          (eca-context-serve-mode 1)
          (setq agent (make-process
                       :name "bench-mcp" :connection-type 'pipe :noquery t
                       :command (list "python3" (expand-file-name "mcp.py" bench-folder)
                                      (getenv "ECA_CONTEXT_PROGRAM"))
                       :filter (lambda (_ text) (setq said (concat said text)))))
          (unwind-protect
              (bench-with-server folder ask
                (dotimes (n (if (> bench-divisor 1) 2 41))
                  (pcase-let* ((theirs (funcall ask "editor/getContext" params))
                               (answer (funcall ask-agent))
                               (result (plist-get answer :result))
                               (content (plist-get result :structuredContent)))
                    (unless (and (= 1 (length (plist-get content :definitions)))
                                 (= 1 (length (plist-get (cdr theirs) :definitions))))
                      (error "mcp: %S, %S" result theirs))
                    ;; The first one is to warm up.
                    (unless (zerop n)
                      (push (plist-get answer :ms) ours-ms)
                      (push (car theirs) peer-ms)))))
            (delete-process agent)
            (eca-context-serve-mode -1)
            (eca-context-eca-uninstall))
          (bench-note "mcp-context" ours-ms peer-ms))))))

(provide 'doors)
;;; doors.el ends here
