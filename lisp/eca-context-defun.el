;;; eca-context-defun.el --- The symbols around a place, by syntax  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Where a definition begins and ends, by parentheses in Lisp, by indentation in Python, by braces
;; or by the mode's own means where imenu knows the names.  What is not closed is not said to enclose; the last symbol above is
;; never taken for one around.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'eca-context-imenu)
(require 'eca-context-place)
(require 'eca-context-position)
(require 'eca-context-treesit)

(defun eca-context-defun-enclosing-symbols (request callback)
  "Return the symbols around point by parser or syntax, an outcome or nil.
REQUEST and CALLBACK are those of `eca-context-job-run'."
  (or (eca-context-treesit-enclosing-symbols request callback)
      (cond ((derived-mode-p 'lisp-mode 'lisp-data-mode 'scheme-mode 'clojure-mode)
             (eca-context-defun--outcome #'eca-context-defun--lisp))
            ((derived-mode-p 'python-mode)
             (eca-context-defun--outcome #'eca-context-defun--python)))))

(defun eca-context-defun-named (request callback)
  "Return the symbols around point with imenu's names, an outcome or nil.
They end where their braces do, or where the mode itself knows how to find the
end of a definition.  REQUEST and CALLBACK are those of `eca-context-job-run'."
  (cond ((eca-context-defun-enclosing-symbols request callback) nil)
        ((and (memq major-mode eca-context-defun--brace-modes) (eq (char-syntax ?{) ?\())
         (eca-context-defun--outcome #'eca-context-defun--braces))
        ((and (derived-mode-p 'prog-mode)
              beginning-of-defun-function
              (or forward-sexp-function
                  (not (equal end-of-defun-function (default-value 'end-of-defun-function)))))
         (eca-context-defun--outcome #'eca-context-defun--by-mode))))

;; A whole index may have to be made.
(put 'eca-context-defun-named 'eca-context-computes t)

(defun eca-context-defun--outcome (find)
  "Return the outcome of FIND for point."
  (list :provider (string-remove-suffix "-mode" (symbol-name major-mode))
        :kind "textual" :status "ok"
        :items (save-excursion (funcall find (point)))))

(defun eca-context-defun--items (found)
  "Return FOUND as vectors, outermost first.
FOUND is a list of (NAME KIND BEG END NAME-BEG NAME-END), the last two may be
nil; a function in a class is a method."
  (let (outer)
    (mapcar (pcase-lambda (`(,name ,kind ,beg ,end ,name-beg ,name-end))
              (let ((kind (if (and (equal kind "function") (equal outer "class")) "method" kind)))
                (setq outer kind)
                (vector name kind (eca-context-position-range beg end)
                        (and name-beg (eca-context-position-range name-beg name-end)))))
            (sort found (lambda (a b) (< (nth 2 a) (nth 2 b)))))))

;;;; Lisp

(defconst eca-context-defun--lisp-kinds
  '(("class" . "class") ("struct" . "struct") ("method" . "method")
    ("\\`\\(?:cl-\\)?def\\(?:var\\|parameter\\|custom\\|face\\|group\\)\\|defvar" . "variable")
    ("const" . "constant") ("package\\|module\\|\\`ns\\'" . "module")
    ("type" . "class") ("" . "function"))
  "What words define, by parts of them.")

(defun eca-context-defun--lisp (pos)
  "Return the definitions around POS, vectors, outermost first."
  (let ((opens (eca-context-defun--opens pos)))
    ;; At a parenthesis one is at its list, on either side.
    (when (eq (char-after pos) ?\() (push pos opens))
    (when (eq (char-before pos) ?\)) (setq opens (append (eca-context-defun--opens (1- pos)) opens)))
    (eca-context-defun--items
     (delq nil (mapcar #'eca-context-defun--lisp-at (delete-dups opens))))))

(defun eca-context-defun--state (pos)
  "Return the state of the syntax at POS; point stays, as it does not by itself."
  (save-excursion (syntax-ppss pos)))

(defun eca-context-defun--opens (pos)
  "Return where the lists around POS begin."
  (copy-sequence (nth 9 (eca-context-defun--state pos))))

(defun eca-context-defun--lisp-at (open)
  "Return the definition that is the list at OPEN, a list, or nil.
One that is not closed is none."
  (let ((end (condition-case nil (scan-lists open 1 0) (scan-error nil)))
        (case-fold-search nil))
    (goto-char open)
    (when (and end
               (looking-at "(\\([^][ \t\n()'`,\"]+\\)[ \t\n]+['(]*")
               (eca-context-defun--lisp-defines-p (match-string-no-properties 1)))
      (let* ((word (match-string-no-properties 1))
             (kind (cdr (seq-find (lambda (kind) (string-match-p (car kind) word))
                                  eca-context-defun--lisp-kinds)))
             (beg (goto-char (match-end 0))))
        (skip-syntax-forward "w_\\")
        ;; What has no scope is told of where it takes several lines.
        (when (and (> (point) beg)
                   (or (not (member kind '("variable" "constant")))
                       (save-excursion (goto-char open) (< (line-end-position) end))))
          (list (buffer-substring-no-properties beg (point)) kind open end beg (point)))))))

(defun eca-context-defun--lisp-defines-p (word)
  "Return non-nil if WORD begins a definition in a language of the Lisp family."
  (or (string-match-p
       (concat "\\`\\(?:cl-\\)?\\(?:ns\\|define\\(?:-\\(?:syntax\\|record-type\\|macro\\|values\\|public\\)\\)?"
               "\\|def\\(?:un\\|macro\\|subst\\|method\\|generic\\|type\\|struct\\|class\\|var\\|const\\|parameter"
               "\\|constant\\|package\\|setf\\|n-?\\|protocol\\|record\\|multi\\|test\\)?\\)\\'")
       word)
      (let ((symbol (intern-soft word)))
        (and symbol
             (string-match-p "def" word)
             (seq-some (lambda (property) (get symbol property))
                       '(doc-string-elt scheme-doc-string-elt clojure-doc-string-elt))))))

;;;; Python

(defconst eca-context-defun--python-header
  "[ \t]*\\(?:async[ \t]+\\)?\\(def\\|class\\)[ \t]+\\([[:alnum:]_]+\\)"
  "A regexp for what begins a definition of Python, from the line's start.")

(defun eca-context-defun--python (pos)
  "Return the definitions around POS, vectors, outermost first."
  (goto-char pos)
  (eca-context-defun--python-to-statement)
  (let ((indent (1+ (current-indentation)))
        (found nil))
    (while (and (> indent 0)
                (progn
                  (when (and (< (current-indentation) indent)
                             (eca-context-defun--python-statement-p))
                    (setq indent (current-indentation))
                    (let ((one (eca-context-defun--python-at)))
                      (when (and one (<= (nth 2 one) pos (nth 3 one)))
                        (push one found))))
                  (zerop (forward-line -1)))))
    (eca-context-defun--items found)))

(defun eca-context-defun--python-statement-p ()
  "Return non-nil if a statement begins on the line at whose start point is."
  (and (not (looking-at-p "[ \t]*\\(?:#\\|$\\)"))
       (let ((state (syntax-ppss (point))))
         (and (null (nth 8 state))
              (zerop (nth 0 state))
              (not (and (> (point) (point-min)) (eq (char-before (1- (point))) ?\\)))))))

(defun eca-context-defun--python-to-statement ()
  "Move to the start of the line where the statement at or before point begins."
  (beginning-of-line)
  (while (and (not (eca-context-defun--python-statement-p))
              (zerop (forward-line -1)))))

(defun eca-context-defun--python-at ()
  "Return the definition that begins on the line at point, a list, or nil."
  (let ((case-fold-search nil))
    (when (looking-at eca-context-defun--python-header)
      (let ((name (match-string-no-properties 2))
            (kind (if (equal (match-string 1) "def") "function" "class"))
            (indent (current-indentation))
            (name-beg (match-beginning 2))
            (name-end (match-end 2)))
        (list name kind (+ (point) (skip-chars-forward " \t"))
              (eca-context-defun--python-end indent)
              name-beg name-end)))))

(defun eca-context-defun--python-end (indent)
  "Return where the definition at point ends whose first line has INDENT."
  (save-excursion
    (forward-line 1)
    (while (and (not (eobp))
                (not (and (<= (current-indentation) indent)
                          (eca-context-defun--python-statement-p))))
      (forward-line 1))
    ;; Back over what is no code.
    (forward-comment (- (point)))
    (point)))

;;;; Braces

(defconst eca-context-defun--brace-modes
  '(c-mode c++-mode objc-mode java-mode csharp-mode awk-mode php-mode js-mode js2-mode
    javascript-mode typescript-mode css-mode scss-mode less-css-mode perl-mode cperl-mode sh-mode
    rust-mode go-mode swift-mode kotlin-mode scala-mode groovy-mode dart-mode zig-mode)
  "Modes of languages where the brace after a head is the beginning of its body.")

(defun eca-context-defun--braces (pos)
  "Return the definitions around POS, vectors, outermost first.
That is what imenu names in front of a brace."
  (let* ((entries (eca-context-imenu-entries))
         (state (eca-context-defun--state pos))
         (opens (delete-dups
                 (append (and (eq (char-before pos) ?})
                              (copy-sequence (nth 9 (eca-context-defun--state (1- pos)))))
                         (copy-sequence (nth 9 state)))))
         ;; The end of the line, for within its head one is in a definition, too.
         (places (cons (save-excursion (goto-char pos) (line-end-position))
                       (seq-filter (lambda (open) (eq (char-after open) ?{)) opens)))
         (swept (eca-context-position-sweep places))
         (found nil))
    (cl-mapc
     (lambda (place at)
       (let ((entry (eca-context-defun--before entries at)))
         (when entry
           (let* ((name (eca-context-defun--name-bounds entry))
                  (brace (and name (eca-context-defun--brace-after (cdr name))))
                  (one (and brace
                            (or (eql brace place) (eq place (car places)))
                            (eca-context-defun--brace-at (car entry) name brace))))
             (when (and one (<= (nth 2 one) pos (nth 3 one)))
               (cl-pushnew one found :test #'equal))))))
     places swept)
    (eca-context-defun--items found)))

(defun eca-context-defun--name-bounds (entry)
  "Return the bounds of the name of ENTRY, (NAME LINE CHARACTER), or nil."
  (goto-char (eca-context-position-to-point (nth 1 entry) (nth 2 entry)))
  (let ((limit (line-end-position)))
    (or (eca-context-place-symbol (car entry) limit)
        (eca-context-place-symbol (car (last (split-string (car entry) "[.:#]" t))) limit))))

(defun eca-context-defun--before (entries at)
  "Return the last of ENTRIES that is not behind AT, a cons of line and character."
  (let (found)
    (while (and entries
                (or (< (nth 1 (car entries)) (car at))
                    (and (= (nth 1 (car entries)) (car at))
                         (<= (nth 2 (car entries)) (cdr at)))))
      (setq found (pop entries)))
    found))

(defun eca-context-defun--brace-after (pos)
  "Return where the body of what stands at POS begins, or nil if it has none."
  (goto-char pos)
  (let ((depth (nth 0 (eca-context-defun--state pos)))
        (limit (min (point-max) (+ pos 4000)))
        found)
    (while (and (not found) (re-search-forward "[{};]" limit t))
      (let* ((at (match-beginning 0))
             (state (eca-context-defun--state at)))
        (cond ((or (nth 8 state) (> (nth 0 state) depth)))
              ((not (eq (char-after at) ?{)) (setq found 'none))
              ;; A value in braces, alone or before the body.
              ((save-excursion
                 (goto-char at)
                 (forward-comment (- (point)))
                 (eq (char-before) ?=))
               (setq found 'none))
              ((let ((end (condition-case nil (scan-lists at 1 0) (scan-error nil))))
                 (and end
                      (save-excursion
                        (goto-char end)
                        (forward-comment (point-max))
                        (memq (char-after) '(?, ?{)))))
               (goto-char (scan-lists at 1 0)))
              (t (setq found at)))))
    (and (integerp found) found)))

(defun eca-context-defun--brace-at (name bounds brace)
  "Return what is called NAME at BOUNDS, with the body at BRACE, a list or nil.
It begins where its line does, or on that line after another one."
  (let ((end (condition-case nil (scan-lists brace 1 0) (scan-error nil))))
    (when end
      (goto-char (car bounds))
      (skip-chars-backward "^;{}\n")
      (skip-chars-forward " \t")
      (list name (eca-context-defun--brace-kind (buffer-substring-no-properties (point) brace))
            (point) end (car bounds) (cdr bounds)))))

(defun eca-context-defun--brace-kind (head)
  "Return the kind of what is defined by HEAD, the text before its brace, or nil."
  (let ((case-fold-search nil))
    (cond ((string-match "\\_<\\(class\\|struct\\|interface\\|enum\\|namespace\\|module\\)\\_>[^()]*\\'"
                         head)
           (match-string 1 head))
          ((string-match-p "[()]\\|\\_<\\(?:function\\|func\\|fn\\|sub\\|subroutine\\|def\\|proc\\)\\_>"
                           head)
           "function"))))

;;;; The mode's own way

(defconst eca-context-defun--most-steps 30
  "How many definitions above a place are looked at for one around it.")

(defun eca-context-defun--by-mode (pos)
  "Return the definitions around POS, vectors, outermost first.
The mode moves to beginnings and ends, which may take its time; so not all that
is around may be found, and nothing that is not."
  (let ((entries (eca-context-imenu-entries))
        (found nil)
        (n-left eca-context-defun--most-steps))
    (goto-char pos)
    (end-of-line)
    (while (and entries (> n-left 0)
                (let ((from (point)))
                  (funcall beginning-of-defun-function 1)
                  (< (point) from)))
      (setq n-left (1- n-left))
      (let* ((beg (save-excursion (back-to-indentation) (point)))
             (end (eca-context-defun--end-by-mode beg))
             (line (caar (eca-context-position-sweep (list beg))))
             (entry (cl-find line entries :key #'cadr))
             (name (and entry (<= beg pos end)
                        (save-excursion (eca-context-defun--name-bounds entry)))))
        (when name
          (push (list (car entry)
                      (eca-context-defun--brace-kind
                       (buffer-substring-no-properties
                        beg (save-excursion (goto-char beg) (line-end-position))))
                      beg end (car name) (cdr name))
                found)))
      (beginning-of-line))
    (eca-context-defun--items found)))

(defun eca-context-defun--end-by-mode (beg)
  "Return where the definition at BEG ends, or BEG if the mode does not find out."
  (save-excursion
    (goto-char beg)
    (condition-case nil
        (progn
          (funcall end-of-defun-function)
          (skip-chars-backward " \t\r\n" beg)
          (point))
      (error beg))))

(provide 'eca-context-defun)
;;; eca-context-defun.el ends here
