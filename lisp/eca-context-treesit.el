;;; eca-context-treesit.el --- The symbols around a place, by tree-sitter  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The nodes that hold point and define something with a scope: what the mode calls a defun, and what
;; grammars call so by the same words everywhere.  Only where the mode itself has made a parser.

;;; Code:

(require 'seq)
(require 'eca-context-place)
(require 'eca-context-position)

(declare-function treesit-available-p "ext:treesit" () t)
(declare-function treesit-defun-name "ext:treesit" (node) t)
(declare-function treesit-node-at "ext:treesit" (pos &optional parser-or-lang named) t)
(declare-function treesit-node-check "ext:treesit" (node property) t)
(declare-function treesit-node-child-by-field-name "ext:treesit" (node name) t)
(declare-function treesit-node-end "ext:treesit" (node) t)
(declare-function treesit-node-match-p "ext:treesit" (node predicate &optional ignore-missing) t)
(declare-function treesit-node-parent "ext:treesit" (node) t)
(declare-function treesit-node-start "ext:treesit" (node) t)
(declare-function treesit-node-text "ext:treesit" (node &optional no-property) t)
(declare-function treesit-node-type "ext:treesit" (node) t)
(declare-function treesit-parser-list "ext:treesit" (&optional buffer language tag) t)
(defvar treesit-defun-type-regexp)

(defconst eca-context-treesit--kinds
  '(("class\\|record" . "class") ("struct\\|union" . "struct") ("interface\\|trait\\|protocol" . "interface")
    ("enum" . "enum") ("namespace" . "namespace") ("\\`mod\\(ule\\)?\\(_\\|\\'\\)\\|package" . "module")
    ("impl" . "class") ("constructor" . "constructor") ("method" . "method")
    ("func\\|subroutine\\|macro\\|closure\\|arrow" . "function"))
  "What types of nodes define, by parts of their names.")

(defconst eca-context-treesit--scopes
  (concat "\\`\\(?:\\(?:class\\|struct\\|union\\|interface\\|trait\\|protocol\\|enum\\|record\\|impl\\|module\\|mod"
          "\\|namespace\\|function\\|method\\|constructor\\)"
          "\\(?:_\\(?:definition\\|declaration\\|item\\|specifier\\)\\)?\\|singleton_method\\)\\'")
  "Types of nodes that define something with a scope in any language.")

(defun eca-context-treesit-enclosing-symbols (_request _callback)
  "Return the symbols around point by the buffer's parser, an outcome or nil."
  (when (and (fboundp 'treesit-available-p) (treesit-available-p) (treesit-parser-list))
    (list :provider "treesit" :kind "textual" :status "ok"
          :items (eca-context-treesit--items (point)))))

(defun eca-context-treesit--items (pos)
  "Return the symbols around POS, vectors, outermost first."
  (let (nodes items outer)
    ;; A symbol's end is its own, too: there the node at POS is the next one.
    (dolist (at (list pos (max (point-min) (1- pos))))
      (let ((node (treesit-node-at at)))
        (while node
          (when (and (<= (treesit-node-start node) pos (treesit-node-end node))
                     (eca-context-treesit--scope-p node))
            (push node nodes))
          (setq node (treesit-node-parent node)))))
    (dolist (node (sort (seq-uniq nodes (lambda (a b) (equal (eca-context-treesit--extent a)
                                                             (eca-context-treesit--extent b))))
                        #'eca-context-treesit--outer-p))
      (let ((item (eca-context-treesit--item node outer)))
        (when item
          (setq outer (aref item 1))
          (push item items))))
    (nreverse items)))

(defun eca-context-treesit--extent (node)
  "Return where NODE begins and ends, a cons."
  (cons (treesit-node-start node) (treesit-node-end node)))

(defun eca-context-treesit--outer-p (a b)
  "Return non-nil if the node A begins before B, or ends after it."
  (let ((a (eca-context-treesit--extent a))
        (b (eca-context-treesit--extent b)))
    (or (< (car a) (car b))
        (and (= (car a) (car b)) (> (cdr a) (cdr b))))))

(defun eca-context-treesit--scope-p (node)
  "Return non-nil if NODE is a definition, by its mode or by its name."
  (and (treesit-node-check node 'named)
       (or (let ((case-fold-search nil))
             (string-match-p eca-context-treesit--scopes (treesit-node-type node)))
           (eca-context-treesit--match-p node (bound-and-true-p treesit-defun-type-regexp)))))

(defun eca-context-treesit--match-p (node wanted)
  "Return non-nil if NODE is WANTED, in one of the ways modes say that."
  (pcase wanted
    ('nil nil)
    ((pred stringp) (string-match-p wanted (treesit-node-type node)))
    ((pred functionp) (funcall wanted node))
    (`(,(and (pred stringp) regexp) . ,(and (pred functionp) predicate))
     (and (string-match-p regexp (treesit-node-type node))
          (funcall predicate node)))
    (_ (and (fboundp 'treesit-node-match-p) (treesit-node-match-p node wanted t)))))

(defun eca-context-treesit--item (node outer)
  "Return the symbol of the definition NODE, or nil; OUTER is the kind around it."
  (let* ((name-node (treesit-node-child-by-field-name node "name"))
         (name (or (treesit-defun-name node)
                   (and name-node (treesit-node-text name-node t))))
         (kind (eca-context-treesit--kind (treesit-node-type node)))
         (beg (treesit-node-start node))
         ;; Some grammars give the line's end to what ends there.
         (end (save-excursion
                (goto-char (treesit-node-end node))
                (skip-chars-backward " \t\r\n" beg)
                (point)))
         (several (save-excursion (goto-char beg) (< (line-end-position) end))))
    (when (and name (not (string-empty-p name))
               (or kind several)
               ;; The mention of a type is not its definition.
               (or (not (string-suffix-p "_specifier" (treesit-node-type node)))
                   (treesit-node-child-by-field-name node "body")))
      (let* ((name (substring-no-properties name))
             (bounds (if name-node
                         (eca-context-treesit--extent name-node)
                       (save-excursion
                         (goto-char beg)
                         (eca-context-place-symbol (car (last (split-string name "[.:]" t))) end)))))
        (vector name
                (if (and (equal kind "function") (member outer '("class" "struct" "interface")))
                    "method"
                  kind)
                (eca-context-position-range beg end)
                (and bounds (eca-context-position-range (car bounds) (cdr bounds))))))))

(defun eca-context-treesit--kind (type)
  "Return the kind of definitions that are nodes of TYPE, a word of LSP, or nil."
  (let ((case-fold-search nil))
    (cdr (seq-find (lambda (kind) (string-match-p (car kind) type)) eca-context-treesit--kinds))))

(provide 'eca-context-treesit)
;;; eca-context-treesit.el ends here
