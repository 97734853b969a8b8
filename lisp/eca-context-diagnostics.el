;;; eca-context-diagnostics.el --- Which diagnostics must cross wholly  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Of many diagnostics a question wants few.  The module looks at places and severities first and names
;; the items it needs; the others are only counted.  It knows no checker.

;;; Code:

(require 'seq)

(declare-function eca-context-module-near "ext:eca-context-module" (items plan) t)

(defun eca-context-diagnostics-near (outcomes plan)
  "Return facts about diagnostics: OUTCOMES of one file, with what PLAN needs.
The value is a plist, `:diagnostics' with the outcomes and `:diagnosticsOmitted'
with how many items were left out, or nil if there are no OUTCOMES.  Only from
outcomes that are `:exact' can be chosen.  OUTCOMES are not changed."
  (when outcomes
    (let* ((answered (seq-filter (lambda (outcome) (equal (plist-get outcome :status) "ok"))
                                 outcomes))
           (items (and (seq-every-p (lambda (outcome) (plist-get outcome :exact)) answered)
                       (apply #'vconcat (mapcar (lambda (outcome) (plist-get outcome :items))
                                                answered))))
           ;; (OMITTED . INDEXES), nil if all are needed.
           (choice (and (> (length items) (plist-get plan :limit))
                        (eca-context-module-near items plan))))
      (if (null choice)
          (list :diagnostics outcomes)
        (list :diagnostics (eca-context-diagnostics--chosen outcomes items (cdr choice))
              :diagnosticsOmitted (car choice))))))

(defun eca-context-diagnostics--chosen (outcomes items indexes)
  "Return OUTCOMES with those of their ITEMS that have INDEXES, ascending.
ITEMS is a vector of the items of all OUTCOMES that have any."
  (let ((end 0))
    (mapcar (lambda (outcome)
              (if (not (equal (plist-get outcome :status) "ok"))
                  outcome
                (let (chosen)
                  (setq end (+ end (length (plist-get outcome :items))))
                  (while (and indexes (< (car indexes) end))
                    (push (aref items (pop indexes)) chosen))
                  (append (list :items (nreverse chosen)) outcome))))
            outcomes)))

(provide 'eca-context-diagnostics)
;;; eca-context-diagnostics.el ends here
