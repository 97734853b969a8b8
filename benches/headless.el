;;; headless.el --- Measure servers of ours against bare ones  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Loaded by run.sh.  Pyright is asked for the references in a project that nobody has open: by us, from
;; the asking server's write to its read, and by bare.py, which does nothing but ask it.  Both have a
;; pyright of their own, and ask it as often.

;;; Code:

(require 'bench)
(require 'features)
(require 'eca-context-eca)
(require 'eca-context-headless)

(defun bench-lsp-project (folder)
  "Write a project into FOLDER; return (FILE N-REFERENCES), the name from it."
  (let ((n-files (bench-size 500))
        (n-users 1)
        (file (expand-file-name "app.py" folder)))
    (bench-write file "class Cart:
    def total(self, items: list[int]) -> int:
        return sum(items)\n")
    (dotimes (n n-files)
      (let ((uses (zerop (% n 25))))
        (when uses (setq n-users (1+ n-users)))
        (bench-write (expand-file-name (format "part_%03d.py" n) folder)
                     (concat "from app import Cart\n\n\n"
                             (mapconcat (lambda (k)
                                          (format "def work_%d_%d(xs: list[int]) -> int:
    cart = Cart()\n    return len(xs) + %s\n\n\n"
                                                  n k (if (and uses (= k 7)) "cart.total(xs)" "k")))
                                        (number-sequence 0 15) "")))))
    (list file n-users)))

(defun bench-lsp (folder)
  "Measure the first right answer of a server started in FOLDER, and later ones.
The peer is that server asked by a script."
  (pcase-let* ((folder (file-name-as-directory (expand-file-name "lsp" folder)))
               (`(,file ,n) (bench-lsp-project folder))
               (params (list :uri (bench-uri file) :position '(:line 1 :character 8)
                             :include ["references"] :limit 1000))
               (said "")
               (peer (make-process
                      :name "bench-bare" :connection-type 'pipe :noquery t
                      :command (list "python3" (expand-file-name "bare.py" bench-folder)
                                     file "1" "8" (number-to-string n))
                      :filter (lambda (_ text) (setq said (concat said text)))))
               (bare (lambda (how)
                       (setq said "")
                       (process-send-string peer (concat how "\n"))
                       (while (and (not (string-suffix-p "\n" said)) (process-live-p peer))
                         ;; As busily as for ours: the machine has its cores but once.
                         (accept-process-output peer 0.0001))
                       (string-to-number said)))
               (cold-ms nil) (warm-ms nil) (bare-cold-ms nil) (bare-warm-ms nil))
    (eca-context-eca-install)
    (unwind-protect
        (bench-with-server folder ask
          (let ((ours (lambda ()
                        ;; While it starts it says so and is asked again.
                        (let ((sum 0) result)
                          (while (< (length (plist-get result :references)) n)
                            (when (> sum 60000)
                              (error "lsp: %S" result))
                            (pcase-let ((`(,ms . ,said) (funcall ask "editor/getContext" params)))
                              (setq sum (+ sum ms)
                                    result said)))
                          sum))))
            (dotimes (_ (if (> bench-divisor 1) 1 5))
              (eca-context-headless-stop)
              (while (eca-context-headless-servers)
                (eca-context-headless-stop))
              (push (funcall ours) cold-ms)
              (push (funcall bare "cold") bare-cold-ms))
            (dotimes (sample (if (> bench-divisor 1) 2 31))
              (let ((ms (funcall ours))
                    (bare-ms (funcall bare "warm")))
                ;; The first ones are to warm up.
                (when (or (> sample 9) (> bench-divisor 1))
                  (push ms warm-ms)
                  (push bare-ms bare-warm-ms))))))
      (eca-context-eca-uninstall)
      (eca-context-headless-stop)
      (delete-process peer))
    (bench-note "lsp-cold" cold-ms bare-cold-ms)
    (bench-note "lsp-warm" warm-ms bare-warm-ms)))

(provide 'headless)
;;; headless.el ends here
