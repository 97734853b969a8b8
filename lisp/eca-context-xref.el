;;; eca-context-xref.el --- Definitions and references of xref  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Each backend of the buffer is asked by itself, and what it made to answer goes again.  Nothing is
;; visited: places without a line are looked for in temporary buffers.  Language servers are not asked
;; through xref, which waits for them; tags tables neither, which xref visits.

;;; Code:

(require 'cl-lib)
(require 'project)
(require 'seq)
(require 'xref)
(require 'eca-context-elisp)
(require 'eca-context-etags)
(require 'eca-context-files)
(require 'eca-context-grep)
(require 'eca-context-job)
(require 'eca-context-place)
(require 'eca-context-position)

(defconst eca-context-xref--servers '(eglot xref-lsp)
  "Backends that are asked directly, each in its package's file.")

(defun eca-context-xref-definitions (_request _callback)
  "Return a list of outcomes, one for each xref backend that was asked."
  (let (outcomes)
    (dolist (function (eca-context-xref--functions))
      (unless (seq-some #'eca-context-xref--ends-p outcomes)
        (let ((outcome (eca-context-xref--outcome function #'eca-context-xref--ask)))
          (when outcome (push outcome outcomes)))))
    (eca-context-xref--told (nreverse outcomes))))

(defun eca-context-xref--ends-p (outcome)
  "Return non-nil if no other backend need be asked after OUTCOME."
  (and (plist-get outcome :items) (not (equal (plist-get outcome :kind) "textual"))))

(defun eca-context-xref--told (outcomes)
  "Return OUTCOMES without those of backends that would ask, if another one looked."
  (if (seq-some (lambda (outcome) (equal (plist-get outcome :status) "ok")) outcomes)
      (seq-remove (lambda (outcome) (equal (plist-get outcome :status) "would-prompt")) outcomes)
    outcomes))

(defun eca-context-xref--functions ()
  "Return the functions of `xref-backend-functions', global ones in place."
  (let (functions)
    (dolist (function (if (functionp xref-backend-functions)
                          (list xref-backend-functions)
                        xref-backend-functions))
      (if (eq function t)
          (dolist (global (default-value 'xref-backend-functions))
            (push global functions))
        (push function functions)))
    (nreverse (delete-dups functions))))

(defun eca-context-xref--outcome (function ask)
  "Return ASK's outcome for the backend that FUNCTION names, or nil.
A fault of either is an outcome, too."
  (condition-case err
      (let ((backend (if (eq function 'etags--xref-backend) 'etags (funcall function))))
        (and backend
             (not (memq backend eca-context-xref--servers))
             (eca-context-xref--guarded (lambda () (funcall ask backend)))))
    (inhibited-interaction
     (list :provider (eca-context-xref--provider function) :kind "unknown" :status "would-prompt"
           :reason (if (project-current)
                       "it wanted to ask the user"
                     "it wanted to ask the user, for the file is in no project")))
    ((error quit)
     (list :provider (eca-context-xref--provider function) :kind "unknown" :status "error"
           :reason (error-message-string err)))))

(defun eca-context-xref--provider (backend)
  "Return how BACKEND, or the function that names it, is called in an answer."
  (format "xref %s" (cond ((eq backend 'etags--xref-backend) 'etags)
                          ((symbolp backend) backend)
                          (t "backend"))))

(defun eca-context-xref--kind (backend)
  "Return the provenance of the definitions of BACKEND."
  (pcase backend
    ('etags "textual")
    ('elisp "semantic")
    (_ "unknown")))

(defun eca-context-xref--guarded (function)
  "Call FUNCTION here, without questions or new buffers, and return its value.
Files that it visits all the same are visited without hooks and local variables,
and buried unseen."
  (let ((here (current-buffer))
        (before (buffer-list)))
    (unwind-protect
        ;; From within a buffer without local values, so that the values hold everywhere.
        (with-temp-buffer
          (let ((inhibit-interaction t)
                (find-file-hook nil)
                (find-file-suppress-same-file-warnings t)
                (delay-mode-hooks t)
                (enable-local-variables nil)
                (enable-local-eval nil)
                (enable-dir-local-variables nil)
                (buffer-list-update-hook nil))
            (with-current-buffer here
              (funcall function))))
      (mapc #'eca-context-xref--bury (seq-difference (buffer-list) before #'eq)))))

(defun eca-context-xref--bury (buffer)
  "Kill BUFFER, which appeared while a backend was asked, unless it is in use."
  (unless (or (string-prefix-p " " (buffer-name buffer))
              (get-buffer-process buffer)
              (get-buffer-window buffer t))
    (let ((buffer-list-update-hook nil)
          (kill-buffer-query-functions nil))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (cl-letf (((default-value 'kill-buffer-hook) nil))
          (kill-buffer buffer))))))

;;;; Definitions

(defun eca-context-xref--ask (backend)
  "Ask BACKEND for the definitions of what stands at point; return an outcome."
  (eca-context-xref--answer
   backend (eca-context-xref--kind backend)
   (lambda (identifier name)
     (if (eq backend 'etags)
         (eca-context-xref--places
          (eca-context-etags-find name)
          (lambda (tag) (eca-context-etags-place (car tag) (cdr tag) name)))
       (eca-context-xref--places
        (xref-backend-definitions backend identifier)
        (lambda (item) (eca-context-xref--place item name)))))))

(defun eca-context-xref--answer (backend kind find)
  "Return BACKEND's outcome of KIND with the places of FIND.
FIND is called with the identifier at point, as BACKEND has it and as a plain
name; it returns a cons of items and the reason why others are left out."
  (let ((outcome (list :provider (eca-context-xref--provider backend) :kind kind)))
    (if (and (eq backend 'etags) (null (eca-context-etags-tables)))
        (append outcome (list :status "would-prompt" :reason "no tags table is loaded"))
      (let* ((identifier (xref-backend-identifier-at-point backend))
             (name (and (stringp identifier) (substring-no-properties identifier))))
        (if (null name)
            (append outcome (list :status "ok"))
          (eca-context-place-gather
           (lambda ()
             (pcase-let ((`(,items . ,trouble) (funcall find identifier name)))
               (if (and trouble (null items))
                   (append outcome (list :status "error" :reason trouble))
                 (append outcome (list :status "ok" :items items)))))))))))

(defun eca-context-xref--places (found place)
  "Return the places of what was FOUND, each by the function PLACE, and why not.
That is a cons of a list of vectors and the first reason for leaving one out, or
nil."
  (let (items trouble)
    (dolist (one found)
      (condition-case err
          (push (funcall place one) items)
        (error (setq trouble (or trouble (error-message-string err))))))
    (cons (nreverse items) trouble)))

;;;; Places

(defun eca-context-xref--place (item name)
  "Return the place of ITEM, a vector for the module; NAME stands there.
An error, with the reason, if it has none."
  (let ((location (xref-item-location item)))
    (cond
     ((xref-file-location-p location)
      (eca-context-xref--file-place (xref-file-location-file location)
                                    (xref-file-location-line location)
                                    (xref-file-location-column location) name))
     ((xref-buffer-location-p location)
      (eca-context-xref--buffer-place (xref-buffer-location-buffer location)
                                      (xref-buffer-location-position location) name))
     ((xref-bogus-location-p location)
      (error "%s" (xref-bogus-location-message location)))
     ((eca-context-elisp-location-p location)
      (eca-context-elisp-location-place location))
     ((eca-context-etags-location-p location)
      (eca-context-etags-location-place location name))
     ((let ((group (xref-location-group location))
            (line (xref-location-line location)))
        (and (integerp line) (stringp group)
             (file-exists-p (expand-file-name group))
             (eca-context-xref--file-place group line nil name))))
     ;; Its own way, which mostly visits; the caller buries that.
     (t (let ((marker (xref-location-marker location)))
          (eca-context-xref--buffer-place (marker-buffer marker) (marker-position marker)
                                          name))))))

(defun eca-context-xref--file-place (file line column name)
  "Return the place of NAME at LINE (from 1) and COLUMN (or nil) of FILE."
  (unless (and (stringp file) (not (string-search "\0" file)))
    (error "A place without a file"))
  (unless (and (or (null line) (and (integerp line) (> line 0)))
               (or (null column) (and (integerp column) (>= column 0))))
    (error "A place without a line"))
  (unless (eca-context-xref--uri-p file)
    (setq file (expand-file-name file))
    (unless (or (file-remote-p file) (file-exists-p file) (find-buffer-visiting file))
      (error "There is no file %s" (file-name-nondirectory file)))
    (eca-context-place-note-opaque file))
  (vector file (and line (1- line)) column nil nil name))

(defun eca-context-xref--uri-p (file)
  "Return non-nil if FILE is no file name but a URI, as `jar:' of a library."
  (let ((case-fold-search t))
    (string-match-p "\\`[a-z][a-z0-9+.-]+:[^:]" file)))

(defun eca-context-xref--buffer-place (buffer position name)
  "Return the place of NAME at POSITION of BUFFER, the text of a file."
  (let* ((buffer (and buffer (get-buffer buffer)))
         (file (and buffer (buffer-file-name (or (buffer-base-buffer buffer) buffer)))))
    (unless file
      (error "The place is in no file"))
    (eca-context-place-in file
      (lambda ()
        (let ((at (car (eca-context-position-sweep (list position)))))
          (vector file (car at) (cdr at) nil nil name))))))

;;;; References

(defun eca-context-xref-references (request callback)
  "Return the references to what stands at point, outcomes, or `:async'.
REQUEST and CALLBACK are those of `eca-context-job-run'.  A backend that
searches in Lisp, or waits for a program, gives way to the user's typing and is
asked again when that is over."
  (let ((buffer (current-buffer))
        (found (while-no-input (list (eca-context-xref--search request)))))
    (if (consp found)
        (eca-context-xref--searched (car found) request callback)
      (eca-context-job-await
       (plist-get request :deadline)
       (let ((point (point)))
         (lambda ()
           (let ((idle (current-idle-time)))
             (when (and idle (> (float-time idle) 0.5))
               (goto-char point)
               (let ((found (while-no-input (list (eca-context-xref--search request)))))
                 (and (consp found) found))))))
       (lambda (found)
         (if (null found)
             (funcall callback (list :provider "xref" :kind "unknown" :status "busy"
                                     :reason "the user was at work all the time"))
           (let ((outcomes (with-current-buffer buffer
                             (eca-context-xref--searched (car found) request callback))))
             (unless (eq outcomes :async)
               (funcall callback outcomes)))))))))

(defun eca-context-xref--search (request)
  "Ask the backends for the references to what stands at point.
Return their outcomes.  One that is to be completed by a search for text has
`:name' and `:folders' for it, and `:definitions' that are known.  REQUEST is
what is to be answered."
  (let (outcomes)
    (dolist (function (eca-context-xref--functions))
      (unless (seq-some #'eca-context-xref--ends-p outcomes)
        (let ((outcome (eca-context-xref--outcome
                        function
                        (lambda (backend) (eca-context-xref--ask-references backend request)))))
          (when outcome (push outcome outcomes)))))
    (nreverse outcomes)))

(defun eca-context-xref--ask-references (backend request)
  "Return the outcome of BACKEND for the references that REQUEST is about."
  (let* ((identifier (xref-backend-identifier-at-point backend))
         (name (and (stringp identifier) (substring-no-properties identifier)))
         (provider (eca-context-xref--provider backend)))
    (if (or (null name) (string-empty-p name))
        (list :provider provider :kind "textual" :status "ok")
      (eca-context-place-gather
       (lambda ()
         (pcase-let* ((`(,found . ,folders)
                       (eca-context-xref--folders
                        (lambda () (xref-backend-references backend identifier))))
                      (inside (eca-context-xref--inside folders (plist-get request :roots)))
                      (`(,items . ,trouble) (eca-context-xref--references found name)))
           (append
            (list :provider provider :kind (if folders "textual" "unknown"))
            (cond
             ((and folders (null inside))
              (list :status "outside-workspace"
                    :reason "the project lies outside the workspace folders"))
             ((and trouble (null items)) (list :status "error" :reason trouble))
             (t (list :status "ok" :items items)))
            (and inside
                 (list :name name :folders inside
                       :definitions (eca-context-xref--known backend))))))))))

(defun eca-context-xref--inside (folders roots)
  "Return what of FOLDERS lies in ROOTS, all if ROOTS is nil."
  (seq-mapcat (lambda (folder)
                (if (eca-context-files-inside-p folder roots)
                    (list folder)
                  (seq-filter (lambda (root) (eca-context-files-inside-p root (list folder)))
                              roots)))
              folders))

(defun eca-context-xref--known (backend)
  "Return the places that BACKEND surely knows to define what stands at point."
  (and (equal (eca-context-xref--kind backend) "semantic")
       (plist-get (eca-context-xref--ask backend) :items)))

(defun eca-context-xref--folders (function)
  "Call FUNCTION; return (VALUE . FOLDERS), those xref would search for a text.
They are not searched now."
  (let* ((folders nil)
         (search (symbol-function 'xref-references-in-directory))
         (value (cl-letf (((symbol-function 'xref-references-in-directory)
                           (lambda (identifier folder)
                             (if (eca-context-grep-available-p folder)
                                 (progn (push (expand-file-name folder) folders) nil)
                               (funcall search identifier folder)))))
                  (funcall function))))
    (cons value (nreverse folders))))

(defun eca-context-xref--searched (outcomes request callback)
  "Complete OUTCOMES by a search for text where they ask for one.
Return them, or `:async' if CALLBACK is going to be called with them.  REQUEST
is what is to be answered."
  (let ((wanting (seq-find (lambda (outcome) (plist-get outcome :folders)) outcomes)))
    (if (or (null wanting) (seq-some #'eca-context-xref--ends-p outcomes))
        (eca-context-xref--told outcomes)
      (eca-context-grep
       (plist-get wanting :name)
       (eca-context-xref--outermost
        (seq-mapcat (lambda (outcome) (plist-get outcome :folders)) outcomes))
       (eca-context-grep-patterns major-mode (plist-get request :path))
       (plist-get request :deadline)
       (lambda (places why)
         (funcall callback
                  (eca-context-xref--told
                   (append
                    (mapcar (lambda (outcome)
                              (if (eq outcome wanting)
                                  (append (list :items (eca-context-xref--marked
                                                        places outcome))
                                          outcome)
                                outcome))
                            ;; One search serves all that want it.
                            (seq-remove (lambda (outcome)
                                          (and (plist-get outcome :folders)
                                               (null (plist-get outcome :items))
                                               (not (eq outcome wanting))))
                                        outcomes))
                    (and why
                         (list (list :provider "grep" :kind "textual" :status "timeout"
                                     :reason why))))))))
      :async)))

(defun eca-context-xref--outermost (folders)
  "Return FOLDERS without those that lie in another one of them."
  (let ((folders (delete-dups (mapcar #'file-name-as-directory folders))))
    (seq-remove (lambda (folder)
                  (seq-some (lambda (other)
                              (and (not (equal folder other)) (string-prefix-p other folder)))
                            folders))
                folders)))

(defun eca-context-xref--references (found name)
  "Return the places of FOUND, xref items where NAME stands, and why not all.
That is a cons like that of `eca-context-xref--places'."
  (let ((files (make-hash-table :test #'equal))
        (last nil))
    (eca-context-xref--places
     found
     (lambda (item)
       (let ((location (xref-item-location item)))
         (if (not (xref-file-location-p location))
             (eca-context-xref--reference (eca-context-xref--place item name))
           (let* ((file (xref-file-location-file location))
                  (line (xref-file-location-line location))
                  (column (xref-file-location-column location))
                  (true (gethash file files)))
             ;; Once a file: there may be thousands of places.
             (when (or (not (stringp true)) (not (integerp line)) (< line 1))
               (setq true (aref (eca-context-xref--file-place file line column name) 0))
               (puthash file true files))
             (setq last (eca-context-xref--span item file line column name last))
             (vector true (1- line) (or (nth 2 last) column)
                     (and (nth 3 last) (1- line)) (nth 3 last) name nil nil))))))))

(defun eca-context-xref--reference (place &optional declaration)
  "Return PLACE as a reference, DECLARATION t, `:json-false', or nil."
  (vconcat (seq-take place 6) (list declaration (and (> (length place) 7) (aref place 7)))))

(defun eca-context-xref--span (item file line column name last)
  "Return (FILE LINE BEG END . AFTER) of ITEM at COLUMN, in UTF-16 units of LINE.
LAST is what this returned for the item before; NAME stands there.  With the
first match in a line xref keeps the text from the line's start to the second
match, and so on: so the text before a match is known.  AFTER is (COLUMN .
UNITS) of that text's end.  BEG and END are nil where it does not fit."
  (let* ((length (xref-match-length item))
         (text (and length (xref-item-summary item)))
         (next (and (equal (car last) file) (eql (cadr last) line) (nthcdr 4 last)))
         (start (cond ((and next (eql (car next) column)) next)
                      ((null next) (cons 0 (if (and text (eql line 1) (string-prefix-p "\ufeff" text))
                                               -1 0)))))
         (at (and start column (- column (car start)))))
    (if (not (and text at (>= at 0) (<= (+ at length) (length text))
                  (equal (substring-no-properties text at (+ at length)) name)))
        (list file line nil nil)
      (let ((beg (+ (cdr start) (eca-context-position-units-of (substring text 0 at)))))
        (append (list file line beg (+ beg (eca-context-position-units-of name)))
                (cons (+ (car start) (length text))
                      (+ (cdr start) (eca-context-position-units-of text))))))))

(defun eca-context-xref--marked (places outcome)
  "Return PLACES, lists of file, line, beginning and end, as OUTCOME's references.
Where OUTCOME knows the definitions, each says whether it is one."
  (let ((known (mapcar (lambda (place)
                         (list (file-truename (aref place 0)) (aref place 1) (aref place 2)))
                       (plist-get outcome :definitions)))
        (trues (make-hash-table :test #'equal))
        (name (plist-get outcome :name)))
    (append
     (plist-get outcome :items)
     (mapcar
      (pcase-lambda (`(,file ,line ,beg ,end))
        (vector file line beg line end name
                (and known
                     (let ((true (or (gethash file trues)
                                     (puthash file (file-truename file) trues))))
                       (if (member (list true line beg) known) t :json-false)))
                nil))
      places))))

(provide 'eca-context-xref)
;;; eca-context-xref.el ends here
