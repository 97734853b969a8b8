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
      (concat (or (gethash folder eca-context-files--folders)
                  (puthash folder (file-name-as-directory (file-truename folder))
                           eca-context-files--folders))
              (file-name-nondirectory file)))))

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
         (names (delete-dups
                 (mapcan (lambda (name) (list name (eca-context-files--original name)))
                         (list file (if (file-remote-p file) file (eca-context-files--true file)))))))
    (seq-some (lambda (regexp)
                (seq-some (lambda (name) (string-match-p regexp name)) names))
              eca-context-excluded-files)))

(defun eca-context-files--original (file)
  "Return the name of the file that FILE is a backup, an autosave or a lock of."
  (let ((name (file-name-nondirectory file)))
    (concat (file-name-directory file)
            (cond ((string-match "\\`\\.?#\\(.+?\\)#?\\'" name) (match-string 1 name))
                  ((string-match "\\`\\(.+?\\)\\(\\.~[^~]+\\)?~\\'" name) (match-string 1 name))
                  (t name)))))

(defun eca-context-files-connected-p (path)
  "Return non-nil if PATH is on this machine, or on one with a live connection.
For a remote name alone, TRAMP is not even loaded: that starts programs."
  (or (not (string-match-p "\\`/[^/:|]+[|:]" path))
      (and (featurep 'tramp)
           (or (not (file-remote-p path)) (file-remote-p path nil t)))))

(defun eca-context-files-inside-p (file roots)
  "Return non-nil if FILE truly lies in one of ROOTS; nil ROOTS is all."
  (or (null roots)
      (let ((true (eca-context-files--true file)))
        (seq-some (lambda (root) (string-prefix-p (file-name-as-directory (file-truename root)) true))
                  roots))))

(defun eca-context-files-shown-p (file roots)
  "Return non-nil if FILE, a name or nil, lies in ROOTS and is not excluded."
  (and file
       (eca-context-files-connected-p file)
       (not (eca-context-files-excluded-p file))
       (eca-context-files-inside-p file roots)))

(provide 'eca-context-files)
;;; eca-context-files.el ends here
