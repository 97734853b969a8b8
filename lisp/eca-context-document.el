;;; eca-context-document.el --- The file asked about  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What a buffer says of its file: language, lines, whether it is what is on disk, and where in it the
;; asked position is.  It knows no feature.

;;; Code:

(require 'subr-x)
(require 'eca-context-place)
(require 'eca-context-position)

(declare-function auto-revert-handler "ext:autorevert" () t)
(defvar auto-revert-verbose)

(defconst eca-context-document--listings '(tar-mode archive-mode hexl-mode sqlite-mode)
  "Modes of buffers that visit a file and show another text in its place.")

(defun eca-context-document-visiting (path)
  "Return the buffer that visits the file PATH, by whatever name, or nil."
  ;; Emacs 28 first follows all links.
  (or (get-file-buffer path) (find-buffer-visiting path)))

(defun eca-context-document-buffer (path)
  "Return the buffer with the text of the file PATH as the user has it, or nil."
  (let ((buffer (eca-context-document-visiting path)))
    (and buffer
         (not (with-current-buffer buffer
                (apply #'derived-mode-p eca-context-document--listings)))
         buffer)))

(defun eca-context-document-opened-p (path)
  "Return non-nil if the user has opened the file PATH itself.
That is not so if a link to another one has taken its place."
  (let ((buffer (eca-context-document-visiting path)))
    (and buffer
         (equal (buffer-local-value 'buffer-file-truename buffer)
                (abbreviate-file-name (file-truename path))))))

(defun eca-context-document-outdated-p (buffer)
  "Return non-nil if BUFFER, unmodified, is older than its file.
Where the user has such buffers refreshed by themselves, it is refreshed now, in
that way."
  (with-current-buffer buffer
    (and (not (buffer-modified-p))
         (not (verify-visited-file-modtime buffer))
         ;; A pipe that took its place would be waited for, a folder has no text.
         (file-regular-p buffer-file-name)
         (file-readable-p buffer-file-name)
         (progn
           (when (and (fboundp 'auto-revert-handler)
                      (or (bound-and-true-p auto-revert-mode)
                          (and (bound-and-true-p global-auto-revert-mode)
                               (not (bound-and-true-p global-auto-revert-ignore-buffer))
                               (not (apply #'derived-mode-p
                                           (bound-and-true-p global-auto-revert-ignore-modes))))))
             (let ((auto-revert-verbose nil)
                   (inhibit-interaction t))
               (condition-case nil
                   (save-match-data (auto-revert-handler))
                 (error nil))))
           (not (verify-visited-file-modtime buffer))))))

(defun eca-context-document-block (path visiting outdated)
  "Return the document block of the current buffer, the text of PATH.
VISITING is nil if it is a background copy, OUTDATED non-nil if it is one, for
the user's buffer is older than the file."
  (list :path path
        :languageId (eca-context-document-language-id major-mode)
        :lineCount (eca-context-position-n-lines)
        :version (and visiting (number-to-string (buffer-chars-modified-tick)))
        :modified (and visiting (buffer-modified-p) t)
        :diskNewer (or outdated
                       (and visiting (file-exists-p path)
                            (not (verify-visited-file-modtime (current-buffer))) t))))

(defun eca-context-document-language-id (mode)
  "Return LSP's language identifier for the major MODE, else MODE's own stem."
  (let ((stem (string-remove-suffix
               "-ts" (string-remove-suffix "-mode" (symbol-name mode)))))
    (or (cdr (assoc stem '(("js" . "javascript") ("js2" . "javascript") ("js-jsx" . "javascriptreact")
                           ("tsx" . "typescriptreact") ("c++" . "cpp") ("sh" . "shellscript")
                           ("bash" . "shellscript") ("text" . "plaintext")
                           ("fundamental" . "plaintext") ("mhtml" . "html")
                           ("conf" . "properties") ("cperl" . "perl") ("gfm" . "markdown")
                           ("tex" . "latex") ("nxml" . "xml") ("enh-ruby" . "ruby"))))
        stem)))

(defun eca-context-document-texts (path visiting)
  "Return the buffer's text for the module where PATH on disk will not do.
VISITING is nil if the buffer is a background copy of the file."
  (when (or (eca-context-place-opaque-p path)
            (and visiting
                 (or (buffer-modified-p)
                     (not (file-exists-p path))
                     (not (verify-visited-file-modtime (current-buffer))))))
    (list (eca-context-place-text path (and visiting (buffer-modified-p))))))

(defun eca-context-document-cursor (visiting)
  "Return the position of the user's cursor in the file of the buffer VISITING.
It is that of the buffer which was used last: an indirect one has its own."
  (let* ((buffer (or (seq-find (lambda (buffer)
                                 (eq (or (buffer-base-buffer buffer) buffer) visiting))
                               (buffer-list))
                     visiting))
         (window (get-buffer-window buffer t)))
    (if window (window-point window) (with-current-buffer buffer (point)))))

(defun eca-context-document-position (plan visiting)
  "Return the facts about the position that PLAN asks for in the current buffer.
Without one it is point, if VISITING, the buffer the user has."
  (let* ((line (plist-get plan :line))
         (symbol (plist-get plan :symbol))
         (trouble (lambda (code reason) (list :positionTrouble (list :code code :reason reason))))
         (at (lambda (pos)
               (let ((place (car (eca-context-position-sweep (list pos)))))
                 (list :point pos :position (list :line (car place) :character (cdr place)))))))
    (cond
     ((and line (null (eca-context-position-to-point line 0)))
      (funcall trouble "out-of-range"
               (format "there is no line %d, the document has %d lines (0 to %d)" line
                       (eca-context-position-n-lines) (1- (eca-context-position-n-lines)))))
     (symbol
      (let ((found (eca-context-position-find-symbol line symbol
                                                     (or (plist-get plan :occurrence) 1))))
        (if (car found)
            (append (list :occurrences (cdr found)) (funcall at (car found)))
          (funcall trouble "symbol-not-found"
                   (format "%s stands %d times on line %d: %s" symbol (cdr found) line
                           (save-excursion
                             (goto-char (eca-context-position-to-point line 0))
                             (string-trim (buffer-substring-no-properties
                                           (point) (min (line-end-position) (+ (point) 200))))))))))
     (line (funcall at (eca-context-position-to-point line (plist-get plan :character))))
     (visiting (funcall at (eca-context-document-cursor visiting))))))

(provide 'eca-context-document)
;;; eca-context-document.el ends here
