;;; eca-context-symbol.el --- The symbol at a position  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The identifier that touches point, its end included, by the buffer's syntax.

;;; Code:

(require 'thingatpt)
(require 'eca-context-position)

(defun eca-context-symbol-at-point (_request _callback)
  "Return what stands at point: an outcome with the symbol, its range and context."
  (let ((bounds (bounds-of-thing-at-point 'symbol)))
    (list :provider "thing-at-point" :kind "textual" :status "ok"
          :items (and bounds
                      (list (vector (buffer-substring-no-properties (car bounds) (cdr bounds))
                                    (eca-context-position-range (car bounds) (cdr bounds))
                                    (let ((state (save-excursion (syntax-ppss (car bounds)))))
                                      (cond ((nth 4 state) "comment")
                                            ((nth 3 state) "string")
                                            (t "code")))))))))

(provide 'eca-context-symbol)
;;; eca-context-symbol.el ends here
