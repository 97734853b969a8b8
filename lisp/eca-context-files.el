;;; eca-context-files.el --- Which files may be shown  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What the user excludes, what lies in the workspace, and what is near enough to be looked at.  It
;; opens nothing.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'eca-context)
(require 'eca-context-hosts)

(defvar eca-context-files--folders nil
  "Folders and their true names, a hash table, while many files are looked at.")

(defmacro eca-context-files-at-once (&rest body)
  "Evaluate BODY about many files, and look at each folder only once."
  (declare (indent 0) (debug (body)))
  `(let ((eca-context-files--folders (make-hash-table :test #'equal)))
     ,@body))

(defun eca-context-files--true (file)
  "Return the true name of FILE, as `file-truename' does."
  (let ((folder (file-name-directory file)))
    (if (or (null eca-context-files--folders) (null folder)
            (not (file-name-absolute-p file)) (file-symlink-p file))
        (file-truename file)
      (concat (eca-context-files--true-folder folder) (file-name-nondirectory file)))))

(defun eca-context-files--true-folder (folder)
  "Return the true name of FOLDER with a slash at its end."
  (or (and eca-context-files--folders (gethash folder eca-context-files--folders))
      (let ((true (file-name-as-directory (file-truename folder))))
        (when eca-context-files--folders
          (puthash folder true eca-context-files--folders))
        true)))

(defun eca-context-files-current (roots)
  "Return the most recently used file in ROOTS that may be shown, or nil."
  (cl-loop for buffer in (buffer-list)
           for file = (buffer-file-name (or (buffer-base-buffer buffer) buffer))
           when (eca-context-files-shown-p file roots)
           return file))

(defun eca-context-files-excluded-p (file)
  "Return non-nil if the user excludes FILE, by the name given or by its true name.
A backup or an autosave of an excluded file is excluded, too."
  (let* ((case-fold-search t)
         (is-remote (eca-context-hosts-remote-p file))
         ;; Of a plain name no handler knows more, and each of many calls would look for one.
         (file-name-handler-alist (and (string-prefix-p "/:" file) file-name-handler-alist))
         (true (if is-remote file (eca-context-files--true file))))
    (or (eca-context-files--excluded-name-p file)
        (and (not (string= true file)) (eca-context-files--excluded-name-p true)))))

(defun eca-context-files--excluded-name-p (file)
  "Return non-nil if the name FILE, or that of its original, is excluded.
Called for each of many files."
  (let ((original (eca-context-files--original file))
        (found nil))
    (dolist (regexp eca-context-excluded-files found)
      (when (or (string-match-p regexp file)
                (and (not (eq original file)) (string-match-p regexp original)))
        (setq found t)))))

(defun eca-context-files--original (file)
  "Return the name of the file that FILE is a backup, an autosave or a lock of."
  (let ((name (file-name-nondirectory file)))
    (cond ((string-match "\\`\\.?#\\(.+?\\)#?\\'" name)
           (concat (file-name-directory file) (match-string 1 name)))
          ((and (string-suffix-p "~" name)
                (string-match "\\`\\(.+?\\)\\(\\.~[^~]+\\)?~\\'" name))
           (concat (file-name-directory file) (match-string 1 name)))
          (t file))))

(defun eca-context-files-inside-p (file roots)
  "Return non-nil if FILE truly lies in one of ROOTS; nil ROOTS is all."
  (or (null roots)
      (let ((true (eca-context-files--true file)))
        (seq-some (lambda (root) (string-prefix-p (eca-context-files--true-folder root) true))
                  roots))))

(defun eca-context-files-shown-p (file roots)
  "Return non-nil if FILE, a name or nil, lies in ROOTS and is not excluded."
  (and file
       (not (eca-context-files-excluded-p file))
       (eca-context-files-inside-p file roots)))

(provide 'eca-context-files)
;;; eca-context-files.el ends here
