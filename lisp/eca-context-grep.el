;;; eca-context-grep.el --- Where a name stands in a folder  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What xref's own search for references does, with find and grep in a process of its own: Emacs waits
;; for nothing, no buffer is left, and the search ends with the request.

;;; Code:

(require 'seq)
(require 'eca-context-position)

(defvar find-program)
(defvar grep-program)
(defvar semantic-symref-filepattern-alist)

(defconst eca-context-grep--most 20971520
  "How many characters of grep's output are read; then it is stopped.")

(defconst eca-context-grep--patterns
  '((c-mode "*.[ch]") (c++-mode "*.[chCH]" "*.[ch]pp" "*.cc" "*.hh" "*.[ch]xx")
    (python-mode "*.py" "*.pyi" "*.pyw") (js-mode "*.js" "*.jsx" "*.mjs" "*.cjs")
    (typescript-mode "*.ts" "*.tsx" "*.mts" "*.cts") (tsx-mode "*.ts" "*.tsx")
    (ruby-mode "*.rb" "*.ru" "*.rake" "*.gemspec" "Rakefile") (perl-mode "*.pl" "*.PL" "*.pm")
    (cperl-mode "*.pl" "*.PL" "*.pm") (sh-mode "*.sh" "*.bash") (bash-mode "*.sh" "*.bash")
    (html-mode "*.html" "*.htm" "*.php") (mhtml-mode "*.html" "*.htm" "*.php")
    (lisp-interaction-mode "*.el"))
  "Modes whose files have more names than `auto-mode-alist' tells by suffixes.")

(defun eca-context-grep-available-p (folder)
  "Return non-nil if FOLDER can be searched here."
  (and (not (file-remote-p folder))
       (not (memq system-type '(windows-nt ms-dos)))
       (executable-find (eca-context-grep--find))
       (executable-find (eca-context-grep--grep))
       t))

(defun eca-context-grep--find () "Return the program find." (or (bound-and-true-p find-program) "find"))
(defun eca-context-grep--grep () "Return the program grep." (or (bound-and-true-p grep-program) "grep"))

(defun eca-context-grep-patterns (mode file)
  "Return the patterns of names of files in MODE's language, as FILE is."
  (let ((modes (list mode))
        (stem (string-remove-suffix "-ts-mode" (symbol-name mode)))
        patterns)
    (unless (equal stem (symbol-name mode))
      (push (intern (concat stem "-mode")) modes))
    (dolist (mode (nreverse modes))
      (setq patterns
            (append patterns
                    (or (cdr (assq mode (bound-and-true-p semantic-symref-filepattern-alist)))
                        (cdr (assq mode eca-context-grep--patterns))
                        (delq nil
                              (mapcar (lambda (entry)
                                        (and (eq (cdr entry) mode)
                                             (string-match "\\`\\\\\\.\\([[:alnum:]_-]+\\)\\\\'\\'"
                                                           (car entry))
                                             (concat "*." (match-string 1 (car entry)))))
                                      auto-mode-alist))))))
    (delete-dups
     (append patterns
             (let ((extension (and file (file-name-extension file))))
               (cond ((null file) nil)
                     ((null extension) (list (file-name-nondirectory file)))
                     ;; What is compressed cannot be searched.
                     ((not (member extension '("gz" "bz2" "xz" "zst" "Z")))
                      (list (concat "*." extension)))))))))

(defun eca-context-grep (name folders patterns deadline done)
  "Find the whole symbol NAME in files of FOLDERS whose names match PATTERNS.
What is whole is a matter of the current buffer's syntax.  Of a file whose
buffer has unsaved text, that text counts.  At last, at DEADLINE
or before, call DONE once with the places, lists (FILE LINE CHARACTER END), and
nil or the reason why there may be more; lines count from 0, CHARACTER and END
in UTF-16 units."
  (let* ((syntax (syntax-table))
         (buffer (generate-new-buffer " *eca-context grep*" t))
         (process-adaptive-read-buffering nil)
         (coding-system-for-read 'utf-8-unix)
         (timer nil)
         (process nil)
         (finish (lambda (why)
                   (when (buffer-live-p buffer)
                     (cancel-timer timer)
                     (set-process-sentinel process #'ignore)
                     (delete-process process)
                     ;; Called by a timer, and those keep nothing for others.
                     (save-match-data
                       (let ((places (with-current-buffer buffer
                                       (with-syntax-table syntax
                                         (eca-context-grep--places name)))))
                         (let ((kill-buffer-query-functions nil))
                           (kill-buffer buffer))
                         (funcall done
                                  (with-syntax-table syntax
                                    (eca-context-grep--as-edited places name folders patterns))
                                  why)))))))
    (with-current-buffer buffer
      (setq default-directory (file-name-as-directory (car folders))))
    (setq process
          (let ((default-directory (file-name-as-directory (car folders))))
            (make-process :name "eca-context grep" :buffer buffer :noquery t :connection-type 'pipe
                          :command (eca-context-grep--command name folders patterns)
                          :filter #'eca-context-grep--take
                          :sentinel (lambda (process _event)
                                      (unless (process-live-p process)
                                        ;; Not here, where the user could not interrupt it.
                                        (run-at-time
                                         0 nil finish
                                         (and (process-get process 'eca-context-cut)
                                              "there is more than can be read")))))))
    (setq timer (run-at-time (max 0 (- deadline (float-time))) nil finish
                             "the search did not end in time"))
    process))

(defun eca-context-grep--take (process text)
  "Add TEXT to the buffer of PROCESS, unless there is too much of it."
  (when (buffer-live-p (process-buffer process))
    (with-current-buffer (process-buffer process)
      (goto-char (point-max))
      (insert text)
      (when (> (buffer-size) eca-context-grep--most)
        (process-put process 'eca-context-cut t)
        (delete-process process)))))

(defun eca-context-grep--command (name folders patterns)
  "Return the command to find NAME in files of FOLDERS that match PATTERNS."
  (let ((any (lambda (names)
               (cdr (seq-mapcat (lambda (name) (list "-o" "-name" name)) names)))))
    `(,(eca-context-grep--find) "-H"
      ,@(mapcar (lambda (folder) (directory-file-name (expand-file-name folder))) folders)
      "-type" "d" "(" ,@(funcall any vc-directory-exclusion-list) ")" "-prune" "-o"
      "-type" "f" "(" ,@(funcall any (or patterns '("*"))) ")"
      "-exec" ,(eca-context-grep--grep) "-nHIwF" "--null" "-e" ,name "--" "{}" "+")))

(defun eca-context-grep--places (name)
  "Return where the symbol NAME stands in grep's output in the current buffer."
  (let ((lines nil)
        (positions nil)
        beg)
    ;; Only the lines' texts are left, each file and number beside, so that one sweep counts them all.
    (goto-char (point-min))
    (while (not (eobp))
      (if (not (looking-at "\\([^\0\n]+\\)\0\\([0-9]+\\):\ufeff?"))
          (delete-region (point) (min (point-max) (1+ (line-end-position))))
        (push (cons (match-string 1) (1- (string-to-number (match-string 2)))) lines)
        (delete-region (point) (match-end 0))
        (forward-line 1)))
    (setq lines (vconcat (nreverse lines)))
    (goto-char (point-min))
    (while (setq beg (eca-context-position-next-symbol name nil))
      (setq positions (cons (point) (cons beg positions))))
    (let ((swept (eca-context-position-sweep (setq positions (nreverse positions))))
          (places nil))
      (while swept
        (let* ((beg (pop swept))
               (end (pop swept))
               (line (aref lines (car beg))))
          (push (list (car line) (cdr line) (cdr beg) (cdr end)) places)))
      (nreverse places))))

;;;; Unsaved text

(defun eca-context-grep--as-edited (places name folders patterns)
  "Return PLACES of NAME with those in unsaved text in place of those on disk.
FOLDERS and PATTERNS are what was searched."
  (let ((edited (delq nil
                      (mapcar (lambda (buffer)
                                (let ((file (and (buffer-modified-p buffer)
                                                 (eca-context-grep--file buffer folders patterns))))
                                  (and file (cons file buffer))))
                              (buffer-list)))))
    (append (if edited
                (seq-remove (lambda (place) (assoc (car place) edited)) places)
              places)
            (seq-mapcat (pcase-lambda (`(,file . ,buffer))
                          (mapcar (lambda (place) (cons file place))
                                  (eca-context-grep--in-buffer name buffer)))
                        edited))))

(defun eca-context-grep--file (buffer folders patterns)
  "Return the name under which a search comes to the file of BUFFER, or nil.
FOLDERS are searched for PATTERNS."
  (with-current-buffer buffer
    (and buffer-file-name
         (seq-find (lambda (file) (eca-context-grep--searched-p file folders patterns))
                   (list buffer-file-name
                         (and buffer-file-truename (expand-file-name buffer-file-truename)))))))

(defun eca-context-grep--searched-p (file folders patterns)
  "Return non-nil if a search of FOLDERS for PATTERNS comes to FILE, a name or nil."
  (let ((folder (and file (seq-find (lambda (folder)
                                      (string-prefix-p (file-name-as-directory
                                                        (expand-file-name folder))
                                                       file))
                                    folders)))
        (case-fold-search nil))
    (and folder
         (seq-some (lambda (pattern)
                     (string-match-p (wildcard-to-regexp pattern) (file-name-nondirectory file)))
                   (or patterns '("*")))
         (null (seq-intersection vc-directory-exclusion-list
                                 (split-string (substring file (length folder)) "/"))))))

(defun eca-context-grep--in-buffer (name buffer)
  "Return where the symbol NAME stands in the whole text of BUFFER.
The value is a list of (LINE CHARACTER END); what is whole is a matter of the
syntax in force here."
  (let ((syntax (syntax-table))
        (positions nil)
        beg)
    (with-current-buffer buffer
      (with-syntax-table syntax
        (save-excursion
          (save-restriction
            (widen)
            (goto-char (point-min))
            (while (setq beg (eca-context-position-next-symbol name nil))
              (push (cons beg (point)) positions)))))
      (let ((swept (eca-context-position-sweep
                    (seq-mapcat (lambda (place) (list (car place) (cdr place)))
                                (nreverse positions))))
            (places nil))
        (while swept
          (pcase-let ((`(,line . ,character) (pop swept)))
            (push (list line character (cdr (pop swept))) places)))
        (nreverse places)))))

(provide 'eca-context-grep)
;;; eca-context-grep.el ends here
