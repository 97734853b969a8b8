;;; eca-context-org.el --- Headings of Org files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Org's own index for imenu ends at a depth, is switched on by a hook, and unsets the markers of the
;; index that the user has.  This one only reads.

;;; Code:

(declare-function org-get-heading "ext:org" (&optional no-tags no-todo no-priority no-comment) t)
(defvar org-outline-regexp-bol)
(declare-function org-outline-level "ext:org" () t)

(defun eca-context-org-index ()
  "Return the headings of the current Org buffer as an index of imenu.
A heading with others below has an entry `.' for itself first."
  (let ((case-fold-search nil)
        (headings nil))
    (goto-char (point-min))
    (while (re-search-forward org-outline-regexp-bol nil t)
      (let ((at (match-beginning 0)))
        (save-excursion
          (goto-char at)
          (push (list (org-outline-level) at
                      (substring-no-properties (or (org-get-heading t t t t) "")))
                headings))))
    (car (eca-context-org--nested (nreverse headings) 0))))

(defun eca-context-org--nested (headings level)
  "Return (ENTRIES . REST): the first of HEADINGS, those deeper than LEVEL, nested.
Each heading is a list of its level, position and title."
  (let (entries)
    (while (and headings (> (caar headings) level))
      (pcase-let* ((`(,own ,at ,title) (pop headings))
                   (`(,below . ,rest) (eca-context-org--nested headings own)))
        (setq headings rest)
        (push (if below
                  (cons title (cons (cons "." at) below))
                (cons title at))
              entries)))
    (cons (nreverse entries) headings)))

(provide 'eca-context-org)
;;; eca-context-org.el ends here
