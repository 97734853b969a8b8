;;; eca-context-workspace.el --- What the user has open  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Folders, files in buffers, and the active region; of the workspace alone, as far as the user lets it
;; be told.  No folder is listed, nobody is asked for a project.

;;; Code:

(require 'cl-lib)
(require 'project)
(require 'seq)
(require 'eca-context)
(require 'eca-context-files)
(require 'eca-context-position)

(defconst eca-context-workspace--most-characters 2001
  "How much of a selection is handed over, one more than is ever shown.")

(defun eca-context-workspace (request _callback)
  "Return folders, open files and selection of the workspace, an outcome.
REQUEST holds its folders, else it is the project of the current buffer; where
there is neither, all files count."
  (let* ((roots (or (plist-get request :roots) (eca-context-workspace--project)))
         (files (eca-context-workspace--files roots))
         (current (car files)))
    (list :provider "emacs" :kind "semantic" :status "ok"
          :items
          (list (nconc
                 (list :roots (vconcat
                               (mapcar (lambda (root)
                                         (let ((path (directory-file-name (expand-file-name root))))
                                           (vector path (file-name-nondirectory path))))
                                       roots)))
                 (and current (list :currentFile (car current)))
                 (and eca-context-tell-open-files
                      (list :openFiles
                            (vconcat (mapcar (lambda (file)
                                               (vector (car file)
                                                       (buffer-modified-p (cadr file))
                                                       (eca-context-workspace--visible-p file)))
                                             files))))
                 (and current eca-context-tell-selection
                      (let ((selection (seq-some (lambda (buffer)
                                                   (eca-context-workspace--selection
                                                    (car current) buffer))
                                                 (cdr current))))
                        (and selection (list :selection selection)))))))))

(defun eca-context-workspace--project ()
  "Return the folder of the current buffer's project in a list, or nil."
  (let ((project (project-current)))
    (and project
         (list (expand-file-name (project-root project))))))

(defun eca-context-workspace--files (roots)
  "Return the open files in ROOTS that may be shown, the last used first.
Each is a list (FILE BUFFER...) with the buffers that show it, the last used
first; an indirect buffer is one of its base's file."
  (let (files)
    (dolist (buffer (buffer-list))
      (let* ((base (or (buffer-base-buffer buffer) buffer))
             (file (buffer-file-name base))
             (known (and file (assoc file files))))
        (cond ((or (null file) (string-prefix-p " " (buffer-name buffer))))
              (known (setcdr known (append (cdr known) (list buffer))))
              ((eca-context-files-shown-p file roots)
               (push (list file buffer) files)))))
    (nreverse files)))

(defun eca-context-workspace--visible-p (file)
  "Return non-nil if a window is of a buffer of FILE, a name and its buffers."
  (and (seq-some (lambda (buffer) (get-buffer-window buffer 'visible)) (cdr file)) t))

(defun eca-context-workspace--selection (file buffer)
  "Return the active region of BUFFER, which is of FILE, or nil."
  (with-current-buffer buffer
    (when (and transient-mark-mode mark-active (mark t))
      (let* ((window (get-buffer-window buffer 'visible))
             (point (if window (window-point window) (point)))
             (beg (min point (mark t)))
             (end (max point (mark t))))
        (when (< beg end)
          (vector file
                  (eca-context-position-range beg end)
                  (and (eq eca-context-tell-selection t)
                       (save-restriction
                         (widen)
                         (buffer-substring-no-properties
                          beg (min end (+ beg eca-context-workspace--most-characters)))))))))))

(provide 'eca-context-workspace)
;;; eca-context-workspace.el ends here
