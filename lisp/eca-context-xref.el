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
(require 'eca-context-etags)
(require 'eca-context-files)
(require 'eca-context-grep)
(require 'eca-context-job)
(require 'eca-context-place)
(require 'eca-context-xref-place)

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
  "Return OUTCOMES, without backends that would ask or are none if another looked."
  (if (seq-some (lambda (outcome) (equal (plist-get outcome :status) "ok")) outcomes)
      (seq-remove (lambda (outcome)
                    (member (plist-get outcome :status) '("would-prompt" "no-provider")))
                  outcomes)
    outcomes))

(defun eca-context-xref--functions ()
  "Return the functions of `xref-backend-functions', global ones in place."
  (cl-remove-duplicates (eca-context-job-functions 'xref-backend-functions (current-buffer))))

(defun eca-context-xref--outcome (function ask)
  "Return ASK's outcome for the backend that FUNCTION names, or nil.
A fault of either is an outcome, too."
  (let ((backend nil))
    (condition-case err
        (progn
          (setq backend (if (eq function 'etags--xref-backend) 'etags (funcall function)))
          (and backend
               (not (memq backend eca-context-xref--servers))
               (eca-context-xref--guarded (lambda () (funcall ask backend)))))
      (inhibited-interaction
       (list :provider (eca-context-xref--provider (or backend function)) :kind "unknown"
             :status "would-prompt"
             :reason (if (project-current)
                         "it wanted to ask the user"
                       "it wanted to ask the user, for the file is in no project")))
      ((error quit)
       (list :provider (eca-context-xref--provider (or backend function)) :kind "unknown"
             :status "error" :reason (error-message-string err))))))

(defun eca-context-xref--provider (backend)
  "Return how BACKEND, or the function that names it, is called in an answer."
  (format "xref %s" (if (symbolp backend) backend "backend")))

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
            ;; Who asks for references enters the project into the list of those the user knows.
            (cl-letf (((symbol-function 'project-remember-project) #'ignore))
              (with-current-buffer here
                (funcall function)))))
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
         (eca-context-xref-place-each
          (eca-context-etags-find name)
          (lambda (tag) (eca-context-etags-place (car tag) (cdr tag) name)))
       (eca-context-xref-place-each
        (xref-backend-definitions backend identifier)
        (lambda (item) (eca-context-xref-place item name)))))))

(defun eca-context-xref--answer (backend kind find)
  "Return BACKEND's outcome of KIND with the places of FIND.
FIND is called with the identifier at point, as BACKEND has it and as a plain
name; it returns a cons of items and the reason why others are left out."
  (let ((outcome (list :provider (eca-context-xref--provider backend) :kind kind)))
    (if (and (eq backend 'etags) (null (eca-context-etags-tables)))
        (append outcome (list :status "no-provider" :reason "no tags table is loaded"))
      (let* ((identifier (xref-backend-identifier-at-point backend))
             (name (and (stringp identifier) (substring-no-properties identifier))))
        (if (member name '(nil ""))
            (append outcome (list :status "ok"))
          (eca-context-place-gather
           (lambda ()
             (pcase-let ((`(,items . ,trouble) (funcall find identifier name)))
               (if (and trouble (null items))
                   (append outcome (list :status "error" :reason trouble))
                 (append outcome (list :status "ok" :items items)))))))))))

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
    (if (member name '(nil ""))
        (list :provider provider :kind "textual" :status "ok")
      (eca-context-place-gather
       (lambda ()
         (pcase-let* ((`(,found . ,folders)
                       (eca-context-xref--folders
                        (lambda () (xref-backend-references backend identifier))))
                      (inside (eca-context-xref--inside folders (plist-get request :roots)))
                      (`(,items . ,trouble) (eca-context-xref-place-references found name)))
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
