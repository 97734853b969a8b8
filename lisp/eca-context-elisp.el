;;; eca-context-elisp.el --- Where Emacs Lisp is defined  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The locations of Emacs Lisp's own xref backend say what is defined in which library; the line is
;; searched for as find-func does, but in a temporary buffer, and no macro is expanded.  Docstrings are
;; those of the running Emacs.

;;; Code:

(require 'cl-lib)
(require 'find-func)
(require 'help)
(require 'seq)
(require 'subr-x)
(require 'thingatpt)
(require 'eca-context-place)

(declare-function advice--cd*r "nadvice" (f))
(declare-function xref-elisp-location-file "elisp-mode" (cl-x) t)
(declare-function xref-elisp-location-p "elisp-mode" (cl-x) t)
(declare-function xref-elisp-location-symbol "elisp-mode" (cl-x) t)
(declare-function xref-elisp-location-type "elisp-mode" (cl-x) t)

(defun eca-context-elisp-location-p (location)
  "Return non-nil if LOCATION is one of Emacs Lisp."
  (and (fboundp 'xref-elisp-location-p) (xref-elisp-location-p location)))

(defun eca-context-elisp-location-place (location)
  "Return the place that LOCATION, one of Emacs Lisp, points to.
It is an error, with the reason, if there is none.  To be called within
`eca-context-place-gather'."
  (let* ((type (xref-elisp-location-type location))
         (symbol (eca-context-elisp--definer (xref-elisp-location-symbol location)))
         (library (xref-elisp-location-file location)))
    (cond
     ((not (or (stringp library) (eq library 'C-source)))
      (error "It is not known where %s is defined" symbol))
     ((or (eq library 'C-source) (string-match-p "\\.[cm]\\'" library))
      (eca-context-elisp--c-place symbol type library))
     (t
      (let ((file (eca-context-elisp--source library)))
        (eca-context-place-in file
          (lambda ()
            (eca-context-place-vector
             file (eca-context-elisp--name symbol)
             (or (with-syntax-table emacs-lisp-mode-syntax-table
                   (eca-context-elisp--bounds symbol type))
                 (error "It is not seen where in %s a macro defines %s"
                        (file-name-nondirectory file) symbol))))))))))

(defun eca-context-elisp--name (symbol)
  "Return the name that stands where SYMBOL, perhaps a method's list, is defined."
  (let ((name (eca-context-elisp--printed symbol)))
    (if (string-match "\\`(setf \\(.*\\))\\'" name)
        (match-string 1 name)
      name)))

(defun eca-context-elisp--printed (symbol)
  "Return how SYMBOL, perhaps a method's list, is written, `(setf NAME)' included."
  (format "%s" (or (car-safe symbol) symbol)))

(defun eca-context-elisp--definer (symbol)
  "Return the symbol that is defined together with SYMBOL, mostly itself."
  (let ((n-left 10))
    (while (and (symbolp symbol) (get symbol 'definition-name) (> n-left 0))
      (setq symbol (get symbol 'definition-name)
            n-left (1- n-left)))
    symbol))

(defun eca-context-elisp--source (library)
  "Return the source file of LIBRARY; an error if it is not on this machine."
  (let ((library (cond ((string-match "\\.elc\\'" library) (substring library 0 -1))
                       ((string-match "\\.emacs\\.el\\'" library) (substring library 0 -3))
                       (t library))))
    (condition-case nil
        (find-library-name library)
      (error (error "The source of %s is not on this machine"
                    (file-name-nondirectory library))))))

;;;; Emacs' own C

(defun eca-context-elisp--c-place (symbol type library)
  "Return the place of SYMBOL, of TYPE nil or `defvar', in the C file LIBRARY."
  (let* ((name (eca-context-elisp--name symbol))
         (file (and (stringp library)
                    find-function-C-source-directory
                    (expand-file-name (string-remove-prefix "src/" library)
                                      find-function-C-source-directory))))
    (unless (and file (file-readable-p file))
      (error "The source of %s is not on this machine" name))
    (eca-context-place-in file
      (lambda ()
        (let ((case-fold-search nil))
          (unless (re-search-forward
                   (concat (if type "DEFVAR[A-Z_]*" "DEFUN") "[ \t\n]*([ \t\n]*\"\\("
                           (regexp-quote (eca-context-elisp--c-name symbol type)) "\\)\"")
                   nil t)
            (error "%s does not stand in %s" name (file-name-nondirectory file)))
          (eca-context-place-vector file name
                                    (cons (match-beginning 1) (match-end 1))))))))

(defun eca-context-elisp--c-name (symbol type)
  "Return SYMBOL's name in C; TYPE is nil for a function, or `defvar'."
  (let ((function (and (not type) (fboundp symbol)
                       (advice--cd*r (indirect-function symbol)))))
    (if (subrp function)
        (subr-name function)
      (symbol-name symbol))))

;;;; Emacs Lisp

(defun eca-context-elisp--bounds (symbol type)
  "Return the bounds of the name where SYMBOL of TYPE is defined, a cons, or nil.
TYPE is a key of `find-function-regexp-alist'; SYMBOL may be a list that begins
with the symbol, as that of a method."
  (let ((case-fold-search nil)
        (name (eca-context-elisp--name symbol)))
    (cond
     ((eq type 'feature) (eca-context-elisp--feature-bounds name))
     ((and (eq type 'cl-defmethod)
           (eca-context-elisp--search (eca-context-elisp--method-regexp symbol) name)))
     ((eca-context-elisp--search (eca-context-elisp--finder symbol type) name))
     ;; What else has the name where definitions have it; first what calls itself one.
     ((seq-some (lambda (opening)
                  (eca-context-elisp--search
                   (concat opening find-function-space-re "\\(?:['(]\\|(setf[ \t]+\\)?\\\\?"
                           (regexp-quote name) "\\_>")
                   name))
                '("^[ \t]*([^ \t\n()]*\\(?:def\\|alias\\)[^ \t\n()]*" "^([^ \t\n()]+")))
     ((eca-context-elisp--part-bounds name))
     ;; A mode's hook, a function's compiler macro.
     ((string-match "\\`\\(.+\\)-\\(?:hook\\|-cmacro\\)\\'" name)
      (eca-context-elisp--bounds (intern (match-string 1 name)) nil)))))

(defun eca-context-elisp--method-regexp (method)
  "Return a regexp for the definition of METHOD, (NAME QUALIFIERS . SPECIALIZERS).
Emacs' own one takes a method with qualifiers for one without."
  (pcase-let ((`(,name ,qualifiers . ,specializers) method)
              (between "\\(?:[^\"\n]\\|\n[^(]\\)*?"))
    (concat "(\\(?:cl-\\)?defmethod[ \t\n]+" (regexp-quote (format "%s" name)) "[ \t\n]+"
            (mapconcat (lambda (qualifier) (concat (regexp-quote (format "%S" qualifier)) "[ \t\n]+"))
                       qualifiers "")
            "("
            (mapconcat (lambda (specializer)
                         (concat between "[ ']"
                                 (regexp-quote
                                  (format "%S" (if (consp specializer) (nth 1 specializer) specializer)))
                                 "\\_>"))
                       (remq t specializers) ""))))

(defun eca-context-elisp--finder (symbol type)
  "Return find-func's way to SYMBOL of TYPE: a regexp or a function, or nil."
  (let* ((how (cdr (assq type find-function-regexp-alist)))
         (how (if (and (consp how) (not (functionp how))) (car how) how))
         (how (if (and how (symbolp how) (not (functionp how)) (boundp how))
                  (symbol-value how)
                how)))
    (cond ((functionp how) (lambda () (funcall how symbol)))
          ;; In the source, a name may need a backslash at its start.
          ((stringp how)
           (format how (concat "\\\\?" (regexp-quote (eca-context-elisp--printed symbol))))))))

(defun eca-context-elisp--search (finder name)
  "Return the bounds of NAME where FINDER, a regexp or a function, leads, or nil.
What stands in strings or comments counts only where nothing else is found."
  (let ((from (point-min))
        found quoted)
    (while (and finder from (not found))
      (goto-char from)
      (setq from nil)
      (when (if (stringp finder)
                (re-search-forward finder nil t)
              (condition-case nil
                  (funcall finder)
                ((search-failed void-variable wrong-type-argument args-out-of-range) nil)))
        (let* ((end (max (point) (match-end 0)))
               (bounds (eca-context-elisp--name-bounds name (match-beginning 0) end)))
          (cond ((null bounds) (setq from (and (stringp finder) end)))
                ((eca-context-elisp--text-p (car bounds))
                 (setq quoted (or quoted bounds)
                       from (and (stringp finder) end)))
                (t (setq found bounds))))))
    (or found quoted)))

(defun eca-context-elisp--text-p (pos)
  "Return non-nil if POS lies within a string or a comment."
  (save-excursion (nth 8 (parse-partial-sexp (point-min) pos))))

(defun eca-context-elisp--name-bounds (name beg end)
  "Return the bounds of NAME in the form that begins at BEG and was seen to END.
The form's first word does not count, whatever it is."
  (goto-char beg)
  (skip-chars-forward " \t\n")
  (when (eq (char-after) ?\()
    (forward-char)
    (skip-syntax-forward "w_"))
  (eca-context-place-symbol name (max end (line-end-position))))

(defun eca-context-elisp--feature-bounds (name)
  "Return the bounds of the feature NAME in its `provide', else the file's start."
  (or (eca-context-elisp--search
       (concat "^[ \t]*(provide" find-function-space-re "'" (regexp-quote name) "\\_>") name)
      (cons (point-min) (point-min))))

(defconst eca-context-elisp--makers
  '("\\(?:cl-\\)?defstruct\\|defclass" . ":\\(?:constructor\\|predicate\\|copier\\|accessor\\|reader\\|writer\\)")
  "What defines types, and by what words their forms name functions, regexps.")

(defun eca-context-elisp--part-bounds (name)
  "Return the bounds of the function NAME as a part of a type, or nil.
That is NAME itself in the type's form, else a slot's name, else the type's."
  (or (eca-context-elisp--search
       (concat (cdr eca-context-elisp--makers) find-function-space-re (regexp-quote name) "\\_>")
       name)
      (let ((ends (list nil)))
        (while (let ((end (string-match-p "-" name (if (car ends) (1+ (car ends)) 0))))
                 (when end (push end ends))))
        (seq-some (lambda (end)
                    (eca-context-elisp--slot-bounds (substring name 0 end) (substring name (1+ end))))
                  (delq nil ends)))
      (and (string-match "\\`\\(?:make\\|copy\\)-\\(.+\\)\\'" name)
           (eca-context-elisp--slot-bounds (match-string 1 name) nil))))

(defun eca-context-elisp--slot-bounds (type slot)
  "Return the bounds of SLOT where TYPE is defined, or nil.
For the predicate, and where SLOT is nil, it is TYPE's own name."
  (let ((bounds (eca-context-elisp--search
                 (concat "^[ \t]*(\\(?:" (car eca-context-elisp--makers) "\\)"
                         find-function-space-re "(?" (regexp-quote type) "\\_>")
                 type)))
    (when bounds
      (goto-char (cdr bounds))
      (if (member slot '(nil "p"))
          bounds
        (let ((end (save-excursion
                     (re-search-backward "^[ \t]*(")
                     (condition-case nil
                         (scan-lists (point) 1 0)
                       (scan-error (point-max)))))
              found)
          (while (and (not found)
                      (setq bounds (eca-context-place-symbol slot end)))
            (goto-char (cdr bounds))
            ;; Slots stand in lists or alone, not in docstrings and not as keywords.
            (unless (eca-context-elisp--text-p (car bounds))
              (setq found bounds)))
          found)))))

;;;; Docstrings

(declare-function elisp--xref-infer-namespace "elisp-mode" (pos) t)

(defun eca-context-elisp-documentation (_request _callback)
  "Return signature and docstrings of the Emacs Lisp symbol at point, or nil.
Nothing is evaluated or loaded for it."
  (when (derived-mode-p 'emacs-lisp-mode 'inferior-emacs-lisp-mode)
    (let* ((bounds (bounds-of-thing-at-point 'symbol))
           (symbol (and bounds (intern-soft (buffer-substring-no-properties
                                             (car bounds) (cdr bounds))))))
      (list :provider "elisp" :kind "semantic" :status "ok"
            :items (and symbol
                        (mapcar (lambda (piece)
                                  (vector (car piece) "plaintext"
                                          (substring-no-properties (cdr piece))))
                                (eca-context-elisp--documents
                                 symbol (eca-context-elisp--spaces (car bounds)))))))))

(defun eca-context-elisp--spaces (pos)
  "Return of what kinds the symbol at POS may be, the surest first."
  (let ((space (and (fboundp 'elisp--xref-infer-namespace)
                    (elisp--xref-infer-namespace pos))))
    (pcase space
      ((or 'function 'variable 'face) (list space))
      ('maybe-variable '(variable function face))
      (_ '(function variable face)))))

(defun eca-context-elisp--documents (symbol spaces)
  "Return what is written about SYMBOL as one of SPACES, conses (ROLE . TEXT)."
  (seq-mapcat
   (lambda (space)
     (let* ((text (pcase space
                    ('function (and (fboundp symbol) (eca-context-elisp--function-doc symbol)))
                    ('variable (eca-context-elisp--literal-doc symbol 'variable-documentation))
                    ('face (eca-context-elisp--literal-doc symbol 'face-documentation))))
            (parts (and text (eq space 'function) (help-split-fundoc text symbol)))
            (text (if parts (cdr parts) text)))
       (delq nil
             (list (and (eq space 'function) (fboundp symbol)
                        (let ((usage (or (car parts) (eca-context-elisp--usage symbol))))
                          (and usage (cons "signature" usage))))
                   (and text (not (string-blank-p text))
                        (cons "docstring" (substitute-command-keys text)))))))
   spaces))

(defun eca-context-elisp--literal-doc (symbol property)
  "Return the docstring in SYMBOL's PROPERTY; nil if it were to be computed."
  (let ((value (get symbol property)))
    (and (or (stringp value) (integerp value)
             (and (consp value) (stringp (car value)) (integerp (cdr value))))
         (documentation-property symbol property t))))

(defun eca-context-elisp--function-doc (symbol)
  "Return the docstring of the function SYMBOL as it is written, or nil."
  (if (get symbol 'function-documentation)
      (or (eca-context-elisp--literal-doc symbol 'function-documentation)
          (documentation (find-function-advised-original symbol) t))
    (documentation symbol t)))

(defun eca-context-elisp--usage (symbol)
  "Return how the function SYMBOL is called, or nil if that is not known."
  (let ((arguments (help-function-arglist symbol t)))
    (and (listp arguments)
         (format "%S" (cons symbol (mapcar (lambda (argument)
                                             (if (and (symbolp argument)
                                                      (not (memq argument '(&optional &rest))))
                                                 (intern (upcase (symbol-name argument)))
                                               argument))
                                           arguments))))))

(provide 'eca-context-elisp)
;;; eca-context-elisp.el ends here
