;;; eca-context-flymake.el --- The diagnostics that flymake holds  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What flymake holds now, from its live overlays, as positions in the present text.

;;; Code:

(require 'flymake)
(require 'seq)
(require 'eca-context-position)

(defun eca-context-flymake-diagnostics (request _callback)
  "Return the diagnostics of flymake in the current buffer, an outcome, or nil.
REQUEST holds the `:path' of the file."
  (when (bound-and-true-p flymake-mode)
    (let* ((diagnostics (save-restriction (widen) (flymake-diagnostics)))
           (places (eca-context-position-sweep
                    (mapcan (lambda (d) (list (flymake-diagnostic-beg d) (flymake-diagnostic-end d)))
                            diagnostics)))
           (pending (seq-difference (flymake-running-backends) (flymake-reporting-backends))))
      (list :provider "flymake" :kind "unknown" :status "ok"
            :fresh (and (null pending) (flymake-reporting-backends) t)
            :items (mapcar (lambda (d)
                             (let ((beg (pop places)) (end (pop places)))
                               (vector (plist-get request :path)
                                       (eca-context-flymake--severity (flymake-diagnostic-type d))
                                       (eca-context-flymake--source (flymake-diagnostic-backend d))
                                       (and (fboundp 'flymake-diagnostic-code)
                                            (flymake-diagnostic-code d)
                                            (format "%s" (flymake-diagnostic-code d)))
                                       (vector (car beg) (cdr beg) (car end) (cdr end))
                                       (flymake-diagnostic-text d))))
                           diagnostics)))))

(declare-function flymake-diagnostic-code "ext:flymake" (diag) t)

(defun eca-context-flymake--severity (type)
  "Return the word of severity for the flymake diagnostic TYPE."
  (let ((category (or (get type 'flymake-category) type)))
    (pcase category
      ((or 'flymake-warning :warning) "warning")
      ((or 'flymake-note :note) "info")
      (_ "error"))))

(defun eca-context-flymake--source (backend)
  "Return the name of the flymake BACKEND, or nil."
  (and (symbolp backend) backend (symbol-name backend)))

(provide 'eca-context-flymake)
;;; eca-context-flymake.el ends here
